"""How the databases find the rows that requests ask for again and again: by an index, however many jobs there are."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import psycopg
import pytest

from cableferry.core.jobs import HELD, State
from cableferry.store import answers, connect, jobs, lanes, nonces, postgres
from cableferry.store.tx import Statement
from cableferry.testing import stores

ENDED = {State.SUCCEEDED, State.FAILED, State.CANCELLED}
INDEXES = [
    (lanes._LANE_HEAD, "jobs_ready"),
    (lanes._LANE_LOCKED, "jobs_ready"),
    (lanes._TWO_LANES_PAGE, "jobs_ready"),
    (lanes._QUEUE_PAGE, "jobs_queue"),
    (lanes._OLDEST, "jobs_queue"),
    (jobs._LOADS, "jobs_held"),
    (jobs._HELD_BY, "jobs_held"),
    (jobs._OVERDUE, "jobs_due"),
    (jobs._FORGET_TOMBSTONES, "tombstones_at"),
    *((lanes._PAGES[state], "jobs_held") for state in sorted(HELD)),
    *((lanes._PAGES[state], "jobs_ended") for state in sorted(ENDED)),
]
_FILL = (
    """INSERT INTO jobs (id, pool, state, attempt, epoch, revision, processor, profile, priority,
    created_at, moved_at, touched_at) SELECT 'j' || n, 'emx2', 'ready', 1, 0, 1, 'p' || n % 20,
    CASE WHEN n % 3 = 0 THEN 'gpu' END, 0, 1, 1, 1 FROM generate_series(1, 5000) AS n""",
    "INSERT INTO nonces (at, nonce) SELECT n, n::text::bytea FROM generate_series(1, 5000) n",
    "INSERT INTO answers (caller, idempotency_key, request, at) SELECT 'c', n, 'x', n FROM generate_series(1, 5000) n",
)
EACH = pytest.mark.parametrize(("asked", "index"), INDEXES, ids=[asked.name for asked, _ in INDEXES])


@pytest.fixture
def file(tmp_path: Path) -> apsw.Connection:
    url = stores.sqlite_url(tmp_path)
    connect.upgrade_database(url)
    return apsw.Connection(str(connect.path_of(url)))


@pytest.fixture
def server(postgres_url: str) -> Iterator[psycopg.Connection]:
    """A planner that has seen some thousand rows and does not know what is asked for."""
    with postgres.connect(postgres_url) as connection:
        for fill in _FILL:
            connection.execute(fill)
        connection.execute("ANALYZE")
        connection.execute("SET plan_cache_mode = force_generic_plan")
        yield connection


@EACH
def test_sqlite_has_an_index_for_it(file: apsw.Connection, asked: Statement, index: str) -> None:
    plan = file.execute(f"EXPLAIN QUERY PLAN {asked.sqlite}", [None] * asked.sqlite.count("?"))

    assert any(index in row[3] for row in plan)


@pytest.mark.postgres
@pytest.mark.parametrize("asked", [lanes._LANE_HEAD, lanes._LANE_LOCKED], ids=lambda asked: asked.name)
def test_postgres_sorts_no_lane(server: psycopg.Connection, asked: Statement) -> None:
    # a few lanes are quick to sort; a million jobs are not
    server.execute("SET enable_sort = off")

    plan = _plan(server, asked)

    assert "jobs_ready" in plan
    assert "Sort" not in plan


@pytest.mark.postgres
@pytest.mark.parametrize("asked", [nonces._PURGE, answers._PURGE], ids=lambda asked: asked.name)
def test_postgres_forgets_without_a_look_at_everything(server: psycopg.Connection, asked: Statement) -> None:
    assert "Seq Scan" not in _plan(server, asked)


def _plan(server: psycopg.Connection, asked: Statement) -> str:
    numbers = itertools.count(1)
    server.execute(f"PREPARE asked AS {re.sub('%s', lambda _: f'${next(numbers)}', asked.postgres)}".encode())
    nothing = ", ".join(["NULL"] * asked.postgres.count("%s"))
    return "\n".join(row[0] for row in server.execute(f"EXPLAIN EXECUTE asked ({nothing})".encode()))
