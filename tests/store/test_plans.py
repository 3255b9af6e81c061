"""How the databases find the rows that requests ask for again and again: by an index, however many jobs there are."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import psycopg
import pytest

from cableferry.core.buckets import Bucket
from cableferry.core.jobs import HELD, State
from cableferry.store import (
    answers,
    buckets,
    connect,
    deeds,
    history,
    jobs,
    lanes,
    leftovers,
    logs,
    nonces,
    postgres,
    projection,
    retention,
    uploads,
    workers,
)
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
    (jobs._HELD, "jobs_held"),
    (workers._OVERDUE, "workers_due"),
    (projection._MARKED, "unprojected_marked"),
    (jobs._FORGET_TOMBSTONES, "tombstones_at"),
    (uploads._OPEN_OF_ARTIFACT, "uploads_artifact"),
    (uploads._LOCK_OF_ARTIFACT, "uploads_artifact"),
    (uploads._EXPIRED, "uploads_expire"),
    (logs._SETTLED, "logs_open"),
    (logs._SEALED, "logs_sealed"),
    (logs._WATCHED_OF_WORKER, "log_watches_until"),
    (logs._FORGET_WATCHES, "log_watches_until"),
    (lanes._FIRST, "jobs_ready"),
    (lanes._OLDEST_OF_LANE, "jobs_ready"),
    (jobs._ENDED_BY, "jobs_ended_by"),
    (history._RECENT, "transitions_at"),
    (deeds._RECENT, "deeds_at"),
    (retention._STALLED, "artifacts_open"),
    (retention._FORGOTTEN, "artifacts_registered"),
    (leftovers._DEAD, "dead_places_at"),
    (leftovers._LOOK, "files_blob"),
    (buckets._HEADS[Bucket.ARTIFACTS], "artifacts_by_id"),
    (buckets._HEADS[Bucket.NAMES], "artifacts_by_name"),
    (buckets._ARTIFACT[Bucket.NAMES], "artifacts_by_name"),
    *((lanes._PAGES[state], "jobs_held") for state in sorted(HELD)),
    *((lanes._PAGES[state], "jobs_ended") for state in sorted(ENDED)),
]
_FILL = (
    """INSERT INTO jobs (id, pool, state, attempt, epoch, revision, processor, profile, priority,
    created_at, moved_at, touched_at) SELECT 'j' || n, 'emx2', 'ready', 1, 0, 1, 'p' || n % 20,
    CASE WHEN n % 3 = 0 THEN 'gpu' END, 0, 1, 1, 1 FROM generate_series(1, 5000) AS n""",
    """INSERT INTO artifacts (id, state, revision, type, residence, name, metadata, created_at, touched_at)
    SELECT 'a' || n, 'committed', 1, 'blob', 'managed', 'n' || n % 500, 'null', 1, 1 FROM generate_series(1, 5000) n""",
    "INSERT INTO blobs (sha256, size_bytes, created_at) VALUES ('aa', 1, 1)",
    """INSERT INTO files (artifact_key, path, id, blob_key, seq, created_at)
    SELECT a.key, 'p' || n, 'f', b.key, n, 1 FROM artifacts a, blobs b, generate_series(1, 5000) n WHERE a.id = 'a1'""",
    """INSERT INTO uploads (id, artifact_key, path, kind, received, revision, created_at, touched_at, expires_at)
    SELECT 'u' || a.key || '-' || n, a.key, 'p' || n, 'stream', 0, 1, 1, 1, n FROM artifacts a, generate_series(1, 50) n
    WHERE a.key % 50 = 0""",
    """INSERT INTO logs (job_key, attempt, stream, size_bytes, is_cut, touched_at, sealed_at, purged_at)
    SELECT key, 1, 'stdout', 1, 0, 1, CASE WHEN key % 50 > 0 THEN key END, CASE WHEN key % 50 > 1 THEN key END
    FROM jobs""",
    "INSERT INTO log_watches (job_key, until_at) SELECT key, key FROM jobs",
    "INSERT INTO nonces (at, nonce) SELECT n, n::text::bytea FROM generate_series(1, 5000) n",
    "INSERT INTO answers (caller, idempotency_key, request, at) SELECT 'c', n, 'x', n FROM generate_series(1, 5000) n",
)
EACH = pytest.mark.parametrize(("asked", "index"), INDEXES, ids=[asked.name for asked, _ in INDEXES])

EACH_LIST = pytest.mark.parametrize("asked", [*buckets._HEADS.values(), buckets._FILES], ids=lambda asked: asked.name)


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


@EACH_LIST
def test_sqlite_sorts_no_keys(file: apsw.Connection, asked: Statement) -> None:
    plan = file.execute(f"EXPLAIN QUERY PLAN {asked.sqlite}", [None] * asked.sqlite.count("?"))

    assert not [row[3] for row in plan if "TEMP B-TREE" in row[3] or "SCAN artifacts USING COVERING" in row[3]]


@pytest.mark.postgres
@EACH_LIST
def test_postgres_sorts_no_keys(server: psycopg.Connection, asked: Statement) -> None:
    server.execute("SET enable_sort = off")
    server.execute("SET enable_bitmapscan = off")
    plan = _plan(server, asked)

    assert "Sort" not in plan
    assert "Seq Scan" not in plan


@pytest.mark.postgres
@pytest.mark.parametrize("asked", [nonces._PURGE, answers._PURGE], ids=lambda asked: asked.name)
def test_postgres_forgets_without_a_look_at_everything(server: psycopg.Connection, asked: Statement) -> None:
    assert "Seq Scan" not in _plan(server, asked)


def _plan(server: psycopg.Connection, asked: Statement) -> str:
    numbers = itertools.count(1)
    text = re.sub("%s", lambda _: f"${next(numbers)}", asked.postgres).replace("%%", "%")
    server.execute(f"PREPARE asked AS {text}".encode())
    nothing = ", ".join(["NULL"] * asked.postgres.count("%s"))
    return "\n".join(row[0] for row in server.execute(f"EXPLAIN EXECUTE asked ({nothing})".encode()))
