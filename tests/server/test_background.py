"""What the server does by itself, and what it says of its work."""

import asyncio
import contextlib
import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
import structlog

from cableferry.core.access import Need
from cableferry.core.jobs import Draft
from cableferry.core.workers import Offer, Registration, Speaker
from cableferry.dialects.endpoint import Endpoint
from cableferry.engine import jobs, workers
from cableferry.server import background, configured, logs
from cableferry.server.background import Sweep
from cableferry.server.exchange import Reply, Request
from cableferry.server.metrics import Metrics, Observed, observe
from cableferry.server.settings import LogSection, Settings
from cableferry.store import connect
from cableferry.store.tx import News, Store, Tx
from cableferry.testing import servers, stores

RULES = configured.rules(Settings())
OTHERS = msgspec.structs.replace(RULES, pool="others", offline_after=timedelta(seconds=60))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    url = stores.sqlite_url(tmp_path)
    connect.upgrade_database(url)
    with stores.opened(url) as opened:
        yield opened


@pytest.fixture
def log() -> Iterator[io.BytesIO]:
    lines = io.BytesIO()
    logs.configure(LogSection(), lines)
    yield lines
    structlog.reset_defaults()


def _claimed(store: Store) -> str:
    said = Registration("w", None, (Offer("p"),), None)
    store.write(lambda tx: workers.register(tx, RULES, said))
    job = store.write(lambda tx: jobs.create(tx, RULES, Draft("p")))
    store.write(lambda tx: jobs.claim(tx, RULES, job.id, Speaker("w", None, "worker:w")))
    return job.id


def _page(store: Store, numbers: Metrics) -> list[str]:
    return numbers.page(store.read(lambda tx: observe(tx, [RULES.pool]))).decode().splitlines()


def test_every_sweep_of_the_roll_call_runs(store: Store) -> None:
    _claimed(store)

    for sweep in background.roll_call([RULES, OTHERS], 5):
        store.write(sweep.run)


def test_a_sweep_that_fails_is_tried_again_and_counted(store: Store, log: io.BytesIO) -> None:
    numbers = Metrics(lambda: 0)
    runs: list[str] = []

    def fail_once(tx: Tx) -> int:
        runs.append("run")
        if len(runs) == 1:
            raise ValueError("the first one fails")
        return 0

    async def story() -> None:
        sweeping = asyncio.create_task(background.run([Sweep("test", 0.001, fail_once, 1)], store, numbers))
        async with asyncio.timeout(20):
            while 'cableferry_sweeps_total{outcome="done",sweep="test"} 1.0' not in _page(store, numbers):
                await asyncio.to_thread(store.read, lambda tx: None)
        sweeping.cancel()

    asyncio.run(story())

    assert 'cableferry_sweeps_total{outcome="failed",sweep="test"} 1.0' in _page(store, numbers)
    assert b"the first one fails" in log.getvalue()


def test_a_sweep_with_more_to_do_than_a_portion_goes_on_at_once(store: Store) -> None:
    numbers, left = Metrics(lambda: 0), [25]

    def take_ten(tx: Tx) -> int:
        taken = min(10, left[0])
        left[0] -= taken
        return taken

    async def story() -> None:
        sweeping = asyncio.create_task(background.run([Sweep("test", 3600, take_ten, 10)], store, numbers))
        async with asyncio.timeout(20):
            while left[0]:
                await asyncio.to_thread(store.read, lambda tx: None)
        sweeping.cancel()

    asyncio.run(story())

    assert [0] == left


def test_a_silent_claim_is_resolved_by_the_server_itself(tmp_path: Path) -> None:
    quick = msgspec.structs.replace(Settings().timeouts, claimed_seconds=0.01, sweep_seconds=0.05)
    settings = msgspec.structs.replace(servers.settings_in(tmp_path), timeouts=quick)
    with servers.running(settings) as running:
        client = running.client()
        client.post("/api/hpc/workers/register", {"worker_id": "w", "capabilities": [{"processor": "p"}]})
        job = client.post("/api/hpc/jobs", {"processor": "p"}).json["id"]
        claimed = client.post(f"/api/hpc/jobs/{job}/claim", {"worker_id": "w"}).headers["etag"]

        reply = client.get(f"/api/hpc/jobs/{job}?wait=15", {"If-None-Match": claimed})

    assert (reply.json["status"], reply.json["cause"]) == ("FAILED", "not-submitted")


def test_a_restart_however_short_gives_back_the_time_it_took(tmp_path: Path) -> None:
    moment = [datetime(2030, 1, 1, tzinfo=UTC)]
    settings = servers.settings_in(tmp_path)
    connect.upgrade_database(settings.database_url)
    with contextlib.closing(connect.open_store(settings.database_url, clock=lambda: moment[0])) as store:
        with servers.running(settings, store) as running:
            running.client().get("/api/hpc/health")
            job = _claimed(store)
            due = store.read(lambda tx: jobs.get(tx, RULES, job)).due_at
        moment[0] += timedelta(seconds=3)
        with servers.running(settings, store) as running:
            running.client().get("/api/hpc/health")
            due_now = store.read(lambda tx: jobs.get(tx, RULES, job)).due_at

    assert due is not None
    assert due + timedelta(seconds=3) == due_now


def test_the_numbers_tell_the_queue_and_the_leases(store: Store) -> None:
    _claimed(store)
    store.write(lambda tx: jobs.create(tx, RULES, Draft("p")))

    lines = _page(store, Metrics(lambda: 7))

    assert 'cableferry_jobs{pool="emx2",processor="p",state="ready"} 1.0' in lines
    assert 'cableferry_jobs{pool="emx2",processor="p",state="claimed"} 1.0' in lines
    assert "cableferry_leases 1.0" in lines
    assert "cableferry_waiters 7.0" in lines


def test_the_numbers_tell_how_long_the_oldest_job_waits(store: Store) -> None:
    store.write(lambda tx: jobs.create(tx, RULES, Draft("p")))
    seen = store.read(lambda tx: observe(tx, [RULES.pool]))
    later = Observed(seen.tallies, seen.oldest_ready, seen.now + timedelta(seconds=60))

    page = Metrics(lambda: 0).page(later).decode()

    line = next(line for line in page.splitlines() if line.startswith("cableferry_oldest_pending_seconds "))
    assert 60 <= float(line.split()[1]) < 80


def test_made_up_names_get_no_label_for_ever(store: Store) -> None:
    numbers = Metrics(lambda: 0)
    for number in range(1100):
        request = Request("GET", "/", b"", {b"x-timestamp": b"1"}, None, 0.0, "trace", worker=f"w{number}")
        numbers.answered(request, Reply(200))

    assert len([line for line in _page(store, numbers) if line.startswith("cableferry_clock_skew")]) == 1000


def test_the_numbers_are_on_their_page(tmp_path: Path) -> None:
    with servers.running(servers.settings_in(tmp_path)) as running:
        client = running.client()
        client.get("/api/hpc/jobs", {"X-Worker-Id": "w", "X-Timestamp": "1000000000"})
        client.get("/nothing")
        page = client.get("/metrics").body.decode()

    assert 'cableferry_request_seconds_count{method="GET",route="/api/hpc/jobs",status="200"} 1.0' in page
    assert 'cableferry_refusals_total{kind="unknown-route"} 1.0' in page
    assert 'cableferry_clock_skew_seconds{worker="w"} -' in page
    assert "cableferry_commit_units_count" in page


@pytest.mark.parametrize("passed_on", [{"X-Forwarded-For": "203.0.113.9"}, {"Forwarded": "for=203.0.113.9"}])
def test_the_numbers_are_not_for_whom_a_proxy_on_this_machine_passes_on(
    tmp_path: Path, passed_on: dict[str, str]
) -> None:
    with servers.running(servers.settings_in(tmp_path)) as running:
        assert running.client().get("/metrics", passed_on).status == 403


def test_every_request_leaves_one_line(tmp_path: Path, log: io.BytesIO) -> None:
    with servers.running(servers.settings_in(tmp_path)) as running:
        reply = running.client().post(
            "/api/hpc/jobs?token=top-secret",
            {"processor": "p", "parameters": {"password": "top-secret"}},
            {"Authorization": "Bearer top-secret", "X-Worker-Id": "w", "X-Trace-Id": "t-1"},
        )

    lines = [msgspec.json.decode(line) for line in log.getvalue().splitlines()]
    answered = [line for line in lines if line["event"] == "request answered"]
    assert len(answered) == 1
    assert answered[0]["job"] == reply.json["id"]
    assert (answered[0]["status"], answered[0]["worker"], answered[0]["trace"]) == (201, "w", "t-1")
    assert answered[0]["request"] == reply.headers["x-request-id"]
    assert b"top-secret" not in log.getvalue()


def test_a_bug_is_told_without_its_particulars(tmp_path: Path, log: io.BytesIO) -> None:
    with servers.running(servers.settings_in(tmp_path), extra=(BUGGY,)) as running:
        reply = running.client().get("/api/hpc/buggy")

    assert (reply.status, reply.kind) == (500, "bug")
    assert b"the particulars" not in reply.body
    assert b"the particulars" in log.getvalue()
    assert reply.headers["x-trace-id"].encode() in log.getvalue()


def _fail(tx: Tx, call: object) -> None:
    raise ValueError("the particulars")


BUGGY = Endpoint("GET", "/api/hpc/buggy", _fail, Need.READ, "Fail", answer=None)


def test_lines_for_people_are_lines_too() -> None:
    out = io.BytesIO()
    logs.configure(LogSection(format="console"), out)

    structlog.get_logger().info("server listening", address="here", news=News("job"))

    structlog.reset_defaults()
    assert b"server listening" in out.getvalue()


def test_a_traceback_for_people_shows_no_values() -> None:
    out = io.BytesIO()
    logs.configure(LogSection(format="console"), out)

    try:
        _fail_with("-".join(("a", "secret", "value")))
    except ValueError:
        structlog.get_logger().exception("request failed")

    structlog.reset_defaults()
    assert b"_fail_with" in out.getvalue()
    assert b"a-secret-value" not in out.getvalue()


def _fail_with(secret: str) -> None:
    raise ValueError(len(secret))


def test_the_numbers_tell_the_pools_apart_and_the_leases_together(store: Store) -> None:
    for rules in (RULES, OTHERS):
        store.write(lambda tx, rules=rules: workers.register(tx, rules, Registration(rules.pool, None, (Offer("p"),))))
        job = store.write(lambda tx, rules=rules: jobs.create(tx, rules, Draft("p")))
        speaker = Speaker(rules.pool, None, "test")
        store.write(lambda tx, rules=rules, id=job.id, who=speaker: jobs.claim(tx, rules, id, who))

    page = Metrics(lambda: 0).page(store.read(lambda tx: observe(tx, ["emx2", "others"]))).decode().splitlines()

    assert 'cableferry_jobs{pool="others",processor="p",state="claimed"} 1.0' in page
    assert "cableferry_leases 2.0" in page
