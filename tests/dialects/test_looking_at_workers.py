"""A browser sees who works, how much of each offer is in use, and why nothing runs when nobody is alive."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cableferry.testing import servers
from cableferry.testing.servers import Running
from tests.dialects.desk import Desk
from tests.server import streaming

TOLD = {"X-EMX2-API-Version": None, "X-Request-Id": None, "X-Timestamp": None}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with servers.running(servers.settings_in(tmp_path)) as running:
        yield running


def test_what_nobody_runs_is_explained_until_a_worker_comes(server: Running) -> None:
    browser = server.client(TOLD)
    desk = Desk(server.client(), "head-1", "embed")
    job = desk.create()
    before = browser.get("/api/ui/workers").json
    desk.register(session={"id": "boot-0001", "host": "login1", "pid": 7})
    desk.claim(job)

    after: Any = browser.get("/api/ui/workers").json
    head = after["items"][0]

    assert before["why"] == "nothing can run: no worker has registered yet, and 1 job waits"
    assert (1, 0, None) == (after["alive"], after["pending"], after["why"])
    assert (True, 1, "login1") == (head["is_alive"], head["holds"], head["session"]["host"])
    assert head["offers"] == [{"processor": "embed", "profile": "small", "slots": 100, "used": 1}]


def test_a_worker_is_known_by_its_program_its_clock_and_its_trouble(server: Running) -> None:
    browser = server.client(TOLD)
    desk = Desk(server.client({"User-Agent": "field-daemon/1.4"}), "head-1", "embed")
    desk.register()
    ahead = {"X-Timestamp": str(int(time.time()) + 90)}
    desk.client.call("POST", "/api/hpc/workers/head-1/sync", b'{"trouble": "no squeue"}', ahead)

    item: Any = browser.get("/api/ui/workers").json["items"][0]

    assert ("field-daemon/1.4", "no squeue") == (item["agent"], item["trouble"])
    assert 85 < item["clock_ahead_seconds"] <= 90


def test_a_drained_worker_is_told_so_and_its_jobs_say_why_they_wait(server: Running) -> None:
    browser = server.client(TOLD)
    desk = Desk(server.client(), "head-1", "embed")
    desk.register()
    job = desk.create()

    drained = browser.post("/api/ui/workers/head-1/drain").json
    refused = desk.claim(job)
    synced = desk.client.post("/api/hpc/workers/head-1/sync", {"claim": 1}).json
    waiting: Any = browser.get("/api/ui/waiting").json
    audit: Any = browser.get("/api/ui/audit/deeds").json

    assert "anyone" == drained["drained_by"]
    assert (409, "drained") == (refused.status, refused.json["type"].split(":")[-1])
    assert ([], "drained") == (synced["claimed"], synced["no_claims"]["kind"])
    assert [("embed", 1, job, "workers-drained")] == [
        (each["processor"], each["jobs"], each["next_job_id"], each["code"]) for each in waiting["items"]
    ]
    assert "every worker that is alive is being drained" in waiting["why"]
    assert [("worker drained", "head-1", "anyone")] == [(e["what"], e["about"], e["actor"]) for e in audit["items"]]
    assert None is browser.post("/api/ui/workers/head-1/resume").json["drained_at"]
    assert 200 == desk.claim(job).status
    assert 404 == browser.post("/api/ui/workers/nobody/drain").status


def test_what_happened_lately_is_told_page_by_page(server: Running) -> None:
    browser = server.client(TOLD)
    desk = Desk(server.client(), "head-1", "embed")
    job = desk.job_in("COMPLETED")

    first: Any = browser.get("/api/ui/audit/moves?limit=3").json
    rest: Any = browser.get(f"/api/ui/audit/moves?limit=3&older={first['older']}").json
    done: Any = browser.get("/api/ui/audit/moves?status=COMPLETED&actor=worker:head-1").json

    told = [each["to_status"] for each in (*first["items"], *rest["items"])]
    assert ["COMPLETED", "STARTED", "SUBMITTED", "CLAIMED", "PENDING"] == told
    assert None is rest["older"]
    assert [(job, "embed", "STARTED")] == [(e["job_id"], e["processor"], e["from_status"]) for e in done["items"]]
    assert [400] * 2 == [browser.get(f"/api/ui/audit/{path}").status for path in ("moves?older=x", "moves?status=LOST")]
    assert 400 == browser.get(f"/api/ui/audit/deeds?older={first['older']}").status


def test_the_overview_tells_what_the_server_did_by_itself_and_what_came_and_went(server: Running) -> None:
    browser = server.client(TOLD)
    client = server.client()
    made = client.post("/api/hpc/artifacts", {"type": "blob"}).json["id"]
    place = f"/api/hpc/artifacts/{made}/files/x"
    client.call("PUT", place, b"x" * 1000, {"Content-Type": "text/plain"})
    client.get(place)

    def told() -> tuple[int, int]:
        points: Any = browser.get("/api/ui/overview").json["traffic"]
        return sum(each["received"] for each in points), sum(each["sent"] for each in points)

    assert streaming.until(lambda: told() == (1000, 1000))
    sweeps: Any = browser.get("/api/ui/overview").json["sweeps"]
    assert {"purge", "stalled", "tallies", "traffic"} <= {each["name"] for each in sweeps}
    assert all(each["runs"] > 0 and each["took_seconds"] >= 0 and each["failed_at"] is None for each in sweeps)
