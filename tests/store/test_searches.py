"""Searches answer as a slow look at every row would, on both databases."""

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from cableferry.core.searches import Match, Search
from cableferry.store import searches
from cableferry.store.searches import Table
from cableferry.store.tx import Store
from tests.store import town
from tests.store.town import Town

COLUMNS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "jobs": {
        "status": lambda job: job.state, "worker_id": lambda job: job.worker, "updated_at": lambda job: job.touched_at,
    },
    "transitions": {
        "job_id": lambda t: f"j{t.job_key - 1}",
        "from_status": lambda t: t.old, "to_status": lambda t: t.new, "worker_id": lambda t: t.payload.worker,
        "timestamp": lambda t: t.at,
    },
    "workers": {"worker_id": lambda worker: worker.id, "last_heartbeat_at": lambda worker: worker.seen_at},
    "artifacts": {"status": lambda artifact: artifact.stage},
    "files": {"artifact_id": lambda file: f"a{file.artifact_key - 1}"},
}  # fmt: skip
PLACES: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "jobs_created_at": lambda job: (job.key,),
    "jobs_updated_at": lambda job: (job.touched_at, job.key),
    "transitions_job_id": lambda t: (t.job_key, t.seq),
    "transitions_timestamp": lambda t: (t.at, t.job_key, t.seq),
    "workers_worker_id": lambda worker: (worker.id,),
    "workers_last_heartbeat_at": lambda worker: (worker.seen_at, worker.id),
    "artifacts_created_at": lambda artifact: (artifact.key,),
    "artifacts_updated_at": lambda artifact: (artifact.touched_at, artifact.key),
    "artifacts_name": lambda artifact: ((artifact.name or "").encode(), artifact.key),
    "artifacts_size_bytes": lambda artifact: (-1 if artifact.size_bytes is None else artifact.size_bytes, artifact.key),
    "files_path": lambda file: (file.artifact_key, file.path.encode()),
    "files_size_bytes": lambda file: (
        -1 if file.size_bytes is None else file.size_bytes, file.artifact_key, file.path.encode(),
    ),
}  # fmt: skip
TABLES: list[Table[Any]] = [
    searches.JOBS, searches.TRANSITIONS, searches.WORKERS, searches.ARTIFACTS, searches.FILES,
]  # fmt: skip
EACH = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


def _value(table: Table[Any], row: Any, column: str) -> Any:
    return COLUMNS[table.name].get(column, lambda row: getattr(row, column))(row)


def _fits(value: Any, match: Match) -> bool:
    if match.equals is not None and value not in match.equals:
        return False
    if match.contains is not None:
        return value is not None and any(_lower(part) in _lower(value) for part in match.contains)
    return (match.since is None or value >= match.since) and (match.until is None or value <= match.until)


def _lower(text: str) -> str:
    """As both databases do it with ASCII."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _expected(table: Table[Any], rows: Sequence[Any], search: Search) -> list[Any]:
    order = search.order or next(iter(table.orders))
    fitting = [
        row for row in rows if all(_fits(_value(table, row, name), match) for name, match in search.matches.items())
    ]
    return sorted(fitting, key=PLACES[f"{table.name}_{order}"], reverse=search.is_descending)


def _draw(chance: random.Random, table: Table[Any], rows: Sequence[Any]) -> Search:
    names = chance.sample(sorted(table.conditions), chance.randint(0, 2))
    return Search(
        matches={name: _drawn(chance, name, [_value(table, row, name) for row in rows]) for name in names},
        order=chance.choice([None, *table.orders]),
        is_descending=chance.random() < 0.5,
    )


def _drawn(chance: random.Random, name: str, values: Sequence[Any]) -> Match:
    known = [value for value in values if value is not None]
    if known and isinstance(known[0], datetime):
        return Match(since=chance.choice([None, *known]), until=chance.choice([None, *known]))
    texts = [str(value) for value in known]
    if name in ("name", "path", "hostname") and chance.random() < 0.7:
        return Match(contains=tuple(chance.sample(["a", "O", "%", "_", "!", "ü", "h", "data."], chance.randint(1, 2))))
    return Match(equals=tuple(chance.sample([*texts, "nothing"], chance.randint(0, min(3, len(texts))))))


@EACH
def test_a_search_finds_what_a_slow_look_finds(store: Store, table: Table[Any]) -> None:
    rows: list[Any] = getattr(town.build(store), table.name)
    chance = random.Random(table.name)

    for _ in range(120):
        search = _draw(chance, table, rows)
        expected = _expected(table, rows, search)

        found = store.read(lambda tx, s=search: searches.find(tx, table, "emx2", s))

        assert expected == [each.value for each in found], search
        assert len(expected) == store.read(lambda tx, s=search: searches.count(tx, table, "emx2", s))


def _pages(store: Store, table: Table[Any], search: Search, size: int) -> Iterator[Any]:
    behind = None
    while True:
        asked = Search(search.matches, search.order, search.is_descending, size, 0, behind)
        page = store.read(lambda tx, s=asked: searches.find(tx, table, "emx2", s))
        yield from (found.value for found in page)
        if not page:
            return
        behind = page[-1].place


@EACH
@pytest.mark.parametrize("is_descending", [False, True], ids=["ascending", "descending"])
def test_pages_by_place_and_by_offset_join_to_the_whole(store: Store, table: Table[Any], is_descending: bool) -> None:
    rows: list[Any] = getattr(town.build(store, 11), table.name)

    for order in table.orders:
        search = Search(order=order, is_descending=is_descending)
        expected = _expected(table, rows, search)
        skipped = [
            store.read(lambda tx, n=n, o=order: searches.find(tx, table, "emx2", Search({}, o, is_descending, 3, n)))
            for n in range(0, len(rows), 3)
        ]

        assert expected == list(_pages(store, table, search, 2))
        assert expected == [found.value for page in skipped for found in page]


def _read_by_people(job: Any) -> list[str]:
    said = (job.id, job.processor, job.profile, job.submit_user, job.worker, job.slurm_job_id, job.detail, job.message)
    return [text for text in said if text is not None]


@pytest.mark.parametrize("text", ["J1", "a", "W", "%", "_", "!", "nothing like this", ""])
def test_a_text_is_found_wherever_a_person_reads_it(store: Store, text: str) -> None:
    rows = town.build(store).jobs
    expected = [job for job in rows if any(_lower(text) in _lower(said) for said in _read_by_people(job))]

    found = store.read(lambda tx: searches.find(tx, searches.JOBS, "emx2", Search(text=text)))

    assert expected == [each.value for each in found]
    assert len(expected) == store.read(lambda tx: searches.count(tx, searches.JOBS, "emx2", Search(text=text)))


def test_the_latest_jobs_are_those_that_came_last(store: Store) -> None:
    rows = town.build(store).jobs

    keys = store.read(lambda tx: searches.latest(tx, 3))

    found = store.read(lambda tx: searches.find(tx, searches.JOBS, "emx2", Search(), keys))
    assert [job for job in rows if job.key > keys[1] - 3] == [each.value for each in found]


@EACH
def test_keys_bound_what_is_looked_at(store: Store, table: Table[Any]) -> None:
    built = town.build(store)
    rows: list[Any] = getattr(built, table.name)
    owner = {"transitions": "job_key", "files": "artifact_key"}.get(table.name, "key")
    few = [row for row in rows if 3 <= getattr(row, owner, 0) <= 5] if table.name != "workers" else []

    found = store.read(lambda tx: searches.find(tx, table, "emx2", Search(), (3, 5)))

    assert few == [each.value for each in found]
    assert len(few) == store.read(lambda tx: searches.count(tx, table, "emx2", Search(), (3, 5)))


def test_another_pool_is_another_world(store: Store) -> None:
    built = town.build(store)

    found = store.read(lambda tx: searches.find(tx, searches.JOBS, "other", Search()))

    assert ["elsewhere"] == [each.value.id for each in found]
    assert [] == store.read(lambda tx: searches.find(tx, searches.TRANSITIONS, "other", Search()))
    assert "elsewhere" not in [job.id for job in built.jobs]


@pytest.mark.parametrize(
    ("table", "order", "place", "expected"),
    [
        (searches.JOBS, "created_at", (1,), True),
        (searches.JOBS, "created_at", (), False),
        (searches.JOBS, "created_at", ("1",), False),
        (searches.JOBS, "created_at", (2**63,), False),
        (searches.JOBS, "updated_at", (1, 1), True),
        (searches.WORKERS, "worker_id", ("w",), True),
        (searches.WORKERS, "worker_id", ("w\0",), False),
        (searches.WORKERS, "worker_id", (1,), False),
        (searches.ARTIFACTS, "name", ("n", 1), True),
        (searches.FILES, "path", ("p", 1), False),
    ],
)
def test_a_place_is_one_only_in_its_order(
    table: Table[Any], order: str, place: tuple[Any, ...], expected: bool
) -> None:
    assert expected is searches.is_place(table, order, place)


def test_times_lie_between(store: Store) -> None:
    built: Town = town.build(store)
    second = built.jobs[1].created_at
    asked = Search({"created_at": Match(since=second, until=second + timedelta(microseconds=0))})

    found = store.read(lambda tx: searches.find(tx, searches.JOBS, "emx2", asked))

    assert [built.jobs[1]] == [each.value for each in found]
