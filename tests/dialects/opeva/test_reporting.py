"""What workers of every generation send, and what they may count on."""

import concurrent.futures
import contextlib
from pathlib import Path

import pytest

from cableferry.testing.servers import Reply
from cableferry.wire.opeva import FENCING
from tests.dialects.opeva.port import Port


def detail(reply: Reply) -> tuple[int, object]:
    return reply.status, reply.json["detail"]


def test_the_life_of_a_job_as_a_field_worker_leads_it(port: Port) -> None:
    job = port.launch()

    got = port.poll()

    assert got == {
        "job_id": job,
        "job_name": "Demo-1",
        "config_path": f"configs/{job}.yaml",
        "preferred_host": None,
        "image": "calof/opeva_simulator:latest",
        "command": f"--config /data/configs/{job}.yaml --job_id {job}",
        "container_name": f"opeva_job_Demo-1_{job[:8]}",
        "volumes": [{"host": str(port.share), "container": "/data", "mode": "rw"}],
        "env": {},
    }
    assert "dispatched" == port.word(job)
    container = {"container_id": "c1", "container_name": "n1"}
    assert b'{"ok":true}' == port.say(job, "running", **container).body
    assert 200 == port.say(job, "running", **container).status
    assert 200 == port.say(job, "finished", exit_code=0).status
    assert ("finished", 0, "worker-a") == tuple(port.status(job)[name] for name in ("status", "exit_code", "worker_id"))


POLLS: dict[str, object] = {
    "no worker": {},
    "an unlisted worker": {"worker_id": "ghost"},
    "null": {"worker_id": None},
    "no name": {"worker_id": ""},
    "a number": {"worker_id": 5},
    "no body": b"",
    "half a body": b"{",
    "no letters": b"\xff\xfe",
    "deep": b"[" * 5000,
    "a long name": {"worker_id": "x" * 300},
    "a list": [],
    "a word": "worker-a",
}


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k"}], ids=["once", "with a key"])
@pytest.mark.parametrize("body", POLLS.values(), ids=POLLS)
def test_a_poll_is_never_answered_but_with_200_or_204(port: Port, body: object, headers: dict[str, str]) -> None:
    port.launch()

    reply = port.client.post("/api/agent/next-job", body, headers)

    assert (204, b"") == (reply.status, reply.body)
    assert reply.headers["x-refusal"]


def test_an_empty_queue_is_204_and_no_refusal(port: Port) -> None:
    reply = port.post("/api/agent/next-job", {"worker_id": "local"})

    assert (204, None) == (reply.status, reply.headers.get("x-refusal"))


def test_eight_pollers_get_each_job_once(port: Port) -> None:
    made = {port.launch() for _ in range(120)}

    def drain(number: int) -> list[str]:
        got = []
        while job := port.poll(("worker-a", "worker-b")[number % 2]):
            got.append(job["job_id"])
        return got

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = [job for jobs in pool.map(drain, range(8)) for job in jobs]

    assert len(got) == len(made)
    assert set(got) == made


CONTRADICTIONS = [
    ("queued", "running"),
    ("queued", "stop_requested"),
    ("queued", "finished"),
    ("dispatched", "stopped"),
    ("dispatched", "unknown"),
    ("running", "dispatched"),
    ("running", "queued"),
    ("running", "launching"),
    ("stop_requested", "running"),
    ("stopped", "running"),
    ("stopped", "unknown"),
    ("stopped", "finished"),
    ("finished", "failed"),
    ("finished", "stop_requested"),
    ("failed", "queued"),
    ("canceled", "running"),
]


@pytest.mark.parametrize(("old", "new"), CONTRADICTIONS)
def test_what_contradicts_where_a_job_is_changes_nothing(port: Port, old: str, new: str) -> None:
    job = port.at(old)
    before = port.status(job)

    assert (409, f"Invalid status transition {old} -> {new}") == detail(port.say(job, new))
    assert before == port.status(job)


ACCEPTED = [
    ("dispatched", "dispatched", "dispatched"),
    ("dispatched", "setup", "dispatched"),
    ("dispatched", "failed", "failed"),
    ("dispatched", "finished", "finished"),
    ("dispatched", "canceled", "canceled"),
    ("running", "stop_requested", "stop_requested"),
    ("running", "stopped", "stopped"),
    ("stop_requested", "stop_requested", "stop_requested"),
    ("stop_requested", "finished", "finished"),
    ("stop_requested", "failed", "failed"),
    ("stopped", "stopped", "stopped"),
    ("canceled", "canceled", "canceled"),
]


@pytest.mark.parametrize(("old", "said", "new"), ACCEPTED)
def test_what_workers_say_besides_is_taken(port: Port, old: str, said: str, new: str) -> None:
    job = port.at(old)

    assert 200 == port.say(job, said).status
    assert new == port.word(job)


def test_a_result_that_was_never_reported_as_running_has_a_whole_history(port: Port) -> None:
    job = port.at("dispatched")
    port.say(job, "finished", exit_code=0)

    assert ["queued", "dispatched", "running", "finished"] == [
        row["new"] for row in port.entries(f"/job-history/{job}")
    ]


def test_a_job_that_is_given_back_is_handed_out_again(port: Port) -> None:
    job = port.launch()
    port.poll()

    assert 200 == port.say(job, "queued").status
    assert job == (port.poll("worker-b") or {}).get("job_id")


def test_a_repeated_end_writes_nothing(port: Port) -> None:
    job = port.at("finished")
    before = port.status(job)

    assert 200 == port.say(job, "finished", exit_code=1, error="late").status
    assert before == port.status(job)


def test_what_was_said_once_stays(port: Port) -> None:
    job = port.at("dispatched")
    port.say(job, "running", container_id="c1", details={"stage": 1})
    port.say(job, "running")
    port.say(job, "failed", exit_code=3, error="out of memory")

    known = port.status(job)
    assert ("c1", {"stage": 1}, 3, "out of memory") == tuple(
        known[name] for name in ("container_id", "details", "exit_code", "error")
    )
    info = port.get(f"/job-info/{job}").json
    assert ("c1", 3, "out of memory") == (info["container_id"], info["exit_code"], info["error"])


def test_only_the_holder_of_an_attempt_reports(port: Port) -> None:
    job = port.at("running")
    port.ops(job, "requeue", force=True, preferred_host="worker-b", require_host=False)
    assert job == (port.poll("worker-b") or {})["job_id"]

    assert [409, 409, 200] == [
        port.say(job, "running", "worker-a").status,
        port.say(job, "finished", "worker-a").status,
        port.say(job, "running", "worker-b").status,
    ]


def test_a_word_that_nobody_knows_is_400_and_a_job_that_nobody_knows_404(port: Port) -> None:
    assert (400, "Unknown status 'bogus'") == detail(port.say(port.at("dispatched"), "bogus"))
    for id_ in ("nope", "../../etc", "", "x" * 200):
        assert port.say(id_, "running").status == 404


def test_a_host_that_is_not_listed_does_nothing(port: Port) -> None:
    allowed = "['worker-a', 'worker-b', 'local']"
    job = port.at("dispatched")

    assert (403, f"Unknown worker_id 'ghost'. Allowed: {allowed}") == detail(port.say(job, "running", "ghost"))
    beat = port.post("/api/agent/heartbeat", {"worker_id": "ghost"})
    assert (400, f"Unknown worker_id 'ghost'. Allowed: {allowed}") == detail(beat)
    launch = port.post("/run-simulation", {"config": {"a": 1}, "target_host": "ghost"})
    assert (400, f"Unknown host 'ghost'. Allowed: {allowed}") == detail(launch)
    requeue = port.ops(job, "requeue", preferred_host="ghost")
    assert (400, f"Unknown host 'ghost'. Allowed: {allowed}") == detail(requeue)


def test_a_heartbeat_is_shown_until_the_next_one_and_a_poll_is_one_too(port: Port) -> None:
    port.post("/api/agent/heartbeat", {"worker_id": "worker-b", "info": {"load": 0.5}})
    port.poll("worker-b")
    port.poll("local")

    shown = port.get("/hosts").json
    assert shown["available_hosts"] == ["worker-a", "worker-b", "local"]
    hosts: dict[str, dict[str, object]] = shown["hosts"]  # type: ignore[assignment]  # of the answer
    assert (True, {"load": 0.5}) == (hosts["worker-b"]["online"], hosts["worker-b"]["info"])
    assert (True, {}) == (hosts["local"]["online"], hosts["local"]["info"])


def test_a_host_says_what_it_holds(port: Port) -> None:
    job = port.at("running")

    host = port.get("/hosts").json["hosts"]["worker-a"]  # type: ignore[index]  # of the answer
    assert job in host["active_job_ids"]
    assert host["running"] == len(host["active_job_ids"])


def test_a_pinned_job_goes_to_its_host_and_the_order_is_kept(port: Port) -> None:
    made = [port.launch(host) for host in ("worker-a", "worker-b", "worker-a", "worker-b")]

    got = [(port.poll(host) or {}).get("job_id") for host in ("worker-a", "worker-b", "worker-a", "worker-b", "local")]

    assert got == [*made, None]


FENCED = {"capabilities": [FENCING]}


def test_an_attempt_that_is_fenced_is_spoken_of_with_its_token_alone(port: Port) -> None:
    job = port.launch()
    got = port.poll(**FENCED)
    assert got is not None
    proof = {"attempt_number": got["attempt_number"], "attempt_token": got["attempt_token"]}

    assert (1, FENCING) == (got["attempt_number"], got["attempt_protocol"])
    for wrong in ({}, {"attempt_token": "x"}, {**proof, "attempt_number": 2}):
        refused = port.say(job, "running", **wrong)
        assert 409 == refused.status
        assert "stale_job_attempt" == refused.json["detail"]["code"]  # type: ignore[index]  # an object here
    assert 200 == port.say(job, "running", **proof).status


def test_the_token_of_an_earlier_attempt_is_stale(port: Port) -> None:
    job = port.launch()
    first = port.poll(**FENCED) or {}
    port.ops(job, "requeue", force=True)
    second = port.poll(**FENCED) or {}

    assert (job, 2) == (second["job_id"], second["attempt_number"])
    assert 409 == port.say(job, "running", attempt_token=first["attempt_token"]).status
    assert 200 == port.say(job, "running", attempt_token=second["attempt_token"]).status


def test_a_token_is_shown_to_its_holder_alone(port: Port) -> None:
    job = port.launch()
    got = port.poll(**FENCED) or {}
    port.until(lambda: (port.file("jobs", job, "status.json") or {}).get("status") == "dispatched")

    shown = [port.get(f"/{page}").body for page in (f"status/{job}", f"job-info/{job}", "jobs", f"job-history/{job}")]
    # other tests have left pipes here, and reading one would wait for ever for whoever writes to it
    for path in filter(Path.is_file, port.share.rglob("*")):
        # the folder is written while we look: what is replaced just now goes
        with contextlib.suppress(FileNotFoundError):
            shown.append(path.read_bytes())

    assert [] == [text for text in shown if got["attempt_token"].encode() in text or b"sha256" in text]


def test_an_end_counts_however_much_was_said_of_it(port: Port) -> None:
    job = port.at("running")

    said = port.say(job, "failed", error="\0" + "long " * 10_000, exit_code=3_221_225_786)

    shown = port.status(job)
    assert (200, "failed", 3_221_225_786) == (said.status, shown["status"], shown["exit_code"])
    assert (True, False) == ("long long" in shown["error"], "\0" in shown["error"])
    assert len(shown["error"]) <= 10_000
