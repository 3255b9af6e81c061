"""Stops, operators' orders, deletions and lists."""

from collections.abc import Callable

import pytest

from tests.dialects.opeva.port import Port

STOPS = [
    ("queued", "Job canceled from queue", "canceled"),
    ("dispatched", "Stop requested; worker should terminate the job", "stop_requested"),
    ("running", "Stop requested; worker should terminate the job", "stop_requested"),
    ("stop_requested", "Stop already requested", "stop_requested"),
    ("finished", "Job already finished (finished)", "finished"),
    ("stopped", "Job already finished (stopped)", "stopped"),
]


@pytest.mark.parametrize(("old", "message", "new"), STOPS)
def test_a_stop_says_what_it_did(port: Port, old: str, message: str, new: str) -> None:
    job = port.at(old)

    assert (200, {"message": message}) == ((reply := port.post(f"/stop/{job}")).status, reply.json)
    assert new == port.word(job)
    ordered = port.ops(job, "stop", reason="enough")
    assert (200, job, new) == (ordered.status, ordered.json["job_id"], ordered.json["status"])


ORDERS = [
    ("requeue", "queued", False, 200, "queued"),
    ("requeue", "dispatched", False, 200, "queued"),
    ("requeue", "running", False, 409, "running"),
    ("requeue", "running", True, 200, "queued"),
    ("requeue", "stop_requested", False, 409, "stop_requested"),
    ("requeue", "failed", False, 200, "queued"),
    ("requeue", "stopped", False, 200, "queued"),
    ("requeue", "canceled", False, 200, "queued"),
    ("requeue", "finished", False, 409, "finished"),
    ("requeue", "finished", True, 200, "queued"),
    ("fail", "queued", False, 409, "queued"),
    ("fail", "queued", True, 200, "failed"),
    ("fail", "running", False, 200, "failed"),
    ("fail", "failed", False, 409, "failed"),
    ("fail", "finished", True, 200, "failed"),
    ("cancel", "queued", False, 200, "canceled"),
    ("cancel", "running", False, 200, "canceled"),
    ("cancel", "failed", False, 409, "failed"),
    ("cancel", "failed", True, 200, "canceled"),
]


@pytest.mark.parametrize(("order", "old", "force", "status", "new"), ORDERS)
def test_an_order_is_carried_out_or_needs_force(
    port: Port, order: str, old: str, force: bool, status: int, new: str
) -> None:
    job = port.at(old)

    reply = port.ops(job, order, force=force)

    assert (status, new) == (reply.status, port.word(job))
    if status == 200:
        assert (job, new) == (reply.json["job_id"], reply.json["status"])


def test_an_order_needs_no_body_and_keeps_its_reason(port: Port) -> None:
    job = port.at("running")

    assert 200 == port.client.call("POST", f"/ops/jobs/{job}/fail").status
    known = port.status(job)
    assert ("ops_failed", True, False) == (known["error"], known["failed_by_ops"], known["force"])


def test_a_job_that_is_put_back_prefers_whom_it_had(port: Port) -> None:
    job = port.launch()
    port.poll("worker-b")
    port.ops(job, "requeue")

    assert [("worker-b", False)] == [(each["preferred_host"], each["require_host"]) for each in port.entries("/queue")]
    assert job == (port.poll("worker-a") or {})["job_id"]


def test_a_deleted_job_is_gone_with_its_files_and_its_place_in_the_queue(port: Port) -> None:
    job = port.launch()
    port.until(lambda: port.file("queue", f"{job}.json"))

    reply = port.client.call("DELETE", f"/job/{job}")

    assert (200, f"Job {job} deleted successfully") == (reply.status, reply.json["message"])
    assert 404 == port.client.call("DELETE", f"/job/{job}").status
    assert None is port.poll()
    port.until(lambda: not (port.share / "jobs" / job).exists())
    assert None is port.file("queue", f"{job}.json")


def test_a_running_job_is_asked_to_stop_before_it_is_deleted(port: Port) -> None:
    job = port.at("running")

    assert 409 == port.client.call("DELETE", f"/job/{job}").status
    assert "stop_requested" == port.word(job)
    assert 200 == port.client.call("DELETE", f"/job/{job}?force=true").status
    assert 404 == port.say(job, "stopped").status


UNKNOWN: dict[str, Callable[[Port, str], int]] = {
    "status": lambda port, id_: port.get(f"/status/{id_}").status,
    "job-info": lambda port, id_: port.get(f"/job-info/{id_}").status,
    "stop": lambda port, id_: port.post(f"/stop/{id_}").status,
    "delete": lambda port, id_: port.client.call("DELETE", f"/job/{id_}").status,
    "requeue": lambda port, id_: port.ops(id_, "requeue").status,
    "fail": lambda port, id_: port.ops(id_, "fail").status,
    "cancel": lambda port, id_: port.ops(id_, "cancel").status,
    "ops stop": lambda port, id_: port.ops(id_, "stop").status,
    "logs": lambda port, id_: port.get(f"/logs/{id_}").status,
    "file-logs": lambda port, id_: port.get(f"/file-logs/{id_}").status,
    "logs-chunk": lambda port, id_: port.get(f"/logs-chunk/{id_}").status,
    "progress": lambda port, id_: port.get(f"/progress/{id_}").status,
    "result": lambda port, id_: port.get(f"/result/{id_}").status,
    "history": lambda port, id_: port.get(f"/job-history/{id_}").status,
    "explain": lambda port, id_: port.get(f"/job-explain/{id_}").status,
}


@pytest.mark.parametrize("ask", UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("id_", ["nope", "..%2F..%2Fetc%2Fpasswd", "%2e%2e", "a%0Ab", "x" * 300, "%F0%9F%92%A9"])
def test_a_job_that_is_not_there_is_404_whatever_it_is_called(
    port: Port, ask: Callable[[Port, str], int], id_: str
) -> None:
    assert 404 == ask(port, id_)


def test_a_list_holds_every_job_in_its_order_or_a_part_of_them(port: Port) -> None:
    made = [port.launch() for _ in range(3)]

    jobs = port.entries("/jobs")
    assert made == [job["job_id"] for job in jobs][-3:]
    assert str(len(jobs)) == port.get("/jobs?limit=1").headers["x-total-count"]
    assert made[:2] == [job["job_id"] for job in port.entries(f"/jobs?limit=2&offset={len(jobs) - 3}")]
    assert 422 == port.get("/jobs?limit=0").status


def test_jobs_that_are_over_are_cleaned_up_and_others_stay(port: Port) -> None:
    done, kept, going = port.at("finished"), port.at("failed"), port.at("running")

    reply = port.post("/ops/jobs/cleanup", {"keep": [kept]})

    assert reply.json["kept"] == [kept]
    assert done in reply.json["removed"]  # type: ignore[operator]  # a list
    assert [404, 200, 200] == [port.get(f"/status/{job}").status for job in (done, kept, going)]


def test_files_of_the_queue_that_stand_for_nothing_are_removed(port: Port) -> None:
    job = port.launch()
    port.until(lambda: port.file("queue", f"{job}.json"))
    queue = port.share / "queue"
    (queue / "orphan.json").write_text('{"job_id":"orphan"}')
    (queue / "gone.json.claim.worker-a").write_text("{}")
    (queue / "broken.json").write_text("{")

    assert {"removed": ["gone", "orphan"], "count": 2} == port.post("/ops/queue/cleanup").json
    assert {"removed": ["broken"], "count": 1} == port.post("/ops/queue/cleanup", {"force": True}).json
    assert port.file("queue", f"{job}.json")
