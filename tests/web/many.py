"""A server with very many jobs, and one that has written very much: put there at once, for both take long to come."""

import base64
import http.client
import json
import time
from pathlib import Path

import apsw

from cableferry.testing.servers import Client

JOBS = 100_000
WORKER = "scribe"
_PIECE = 256 * 1024

# the shares of the statuses, the names and the lengths are those of a busy site; the last 300 jobs are not over
_SEED = """WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :jobs)
INSERT INTO jobs (id, pool, state, cause, attempt, epoch, revision, processor, profile, priority, submit_user, worker,
    slurm_job_id, detail, progress, created_at, moved_at, touched_at, started_at, ended_at)
SELECT printf('0193d2a0-%04x-7%03x-8000-%012x', n / 4096, n % 4096, n), 'emx2',
    CASE WHEN n > :jobs - 300 THEN 'running' WHEN n % 50 = 0 THEN 'failed' WHEN n % 97 = 0 THEN 'cancelled'
    ELSE 'succeeded' END,
    CASE WHEN n <= :jobs - 300 AND n % 50 = 0 THEN 'error' END, 1, 1, 1,
    CASE n WHEN 77 THEN 'once-only' ELSE 'align-' || n % 7 END, CASE WHEN n % 3 = 0 THEN 'gpu' END, 0,
    CASE n WHEN 77 THEN 'rare' ELSE 'user-' || n % 11 END, 'cluster-' || n % 13, CAST(100000 + n AS TEXT),
    CASE WHEN n = 77 THEN 'exit_code=1: no such needle' WHEN n % 50 = 0 THEN 'exit_code=1: stopped in line ' || n END,
    CASE WHEN n > :jobs - 300 THEN 0.5 END,
    :now - (:jobs - n) * 1000000, :now, :now, :now - 60000000, CASE WHEN n <= :jobs - 300 THEN :now END
FROM numbers"""
_BODIES = """INSERT INTO job_bodies (job_key, parameters, inputs)
SELECT key, '{"below": 5}', 'null' FROM jobs WHERE key NOT IN (SELECT job_key FROM job_bodies)"""
_ROWS = "SELECT key, id, state, processor, submit_user, worker, detail FROM jobs"


def seed(data: Path) -> None:
    """Into the database of a server that runs."""
    connection = apsw.Connection(str(data / "cableferry.db"))
    connection.set_busy_timeout(20_000)
    with connection:
        connection.execute(_SEED, {"now": int(time.time() * 1e6), "jobs": JOBS})
        connection.execute(_BODIES)
    connection.close()


def reading_all(data: Path) -> float:
    """How many seconds it takes to read what stands in the list of every job, once."""
    connection = apsw.Connection(str(data / "cableferry.db"))
    begun = time.perf_counter()
    count = sum(1 for _ in connection.execute(_ROWS))
    took = time.perf_counter() - begun
    connection.close()
    assert count >= JOBS
    return took


def running(client: Client) -> str:
    """A job that a worker has started."""
    client.post("/api/hpc/workers/register", {"worker_id": WORKER, "capabilities": [{"processor": "writes"}]})
    job = str(client.post("/api/hpc/jobs", {"processor": "writes"}).json["id"])
    client.post(f"/api/hpc/jobs/{job}/claim", {"worker_id": WORKER})
    for status in ("SUBMITTED", "STARTED"):
        client.post(f"/api/hpc/jobs/{job}/transition", {"worker_id": WORKER, "status": status})
    return job


def write(port: int, job: str, size: int) -> int:
    """So many bytes of log in numbered lines, as a daemon sends them; how many lines that are."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    offset = lines = 0
    rest = b""
    while offset < size:
        while len(rest) < _PIECE:
            rest += b"".join(_line(number) for number in range(lines, lines + 2000))
            lines += 2000
        piece, rest = rest[:_PIECE], rest[_PIECE:]
        _send(connection, job, offset, piece)
        offset += len(piece)
    _send(connection, job, offset, rest)
    connection.close()
    return lines


def _line(number: int) -> bytes:
    tone = b"\x1b[32m" if number % 10 == 0 else b""
    return b"%sline %d of a long night: loss 0.%06d, still going on and on and on\x1b[0m\n" % (
        tone,
        number,
        number % 10**6,
    )


def _send(connection: http.client.HTTPConnection, job: str, offset: int, piece: bytes) -> None:
    body = json.dumps({"worker_id": WORKER, "offset": offset, "content": base64.b64encode(piece).decode()})
    headers = {
        "X-EMX2-API-Version": "2025-01", "X-Request-Id": "0193d2a0-0000-4000-8000-000000000000",
        "X-Timestamp": str(int(time.time())), "Content-Type": "application/json",
    }  # fmt: skip
    connection.request("POST", f"/api/hpc/jobs/{job}/logs/stdout", body, headers)
    answer = connection.getresponse()
    told = answer.read()
    assert answer.status == 200, told
