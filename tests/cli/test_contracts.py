"""The commands about jobs, for jobs of the worker contract."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli import ferry as program
from tests.cli.ferry import Ended, ferry
from tests.dialects.opeva import port as ports
from tests.dialects.opeva.port import Port

Call = Callable[..., Ended]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    with ports.running(ports.settings_in(tmp_path_factory.mktemp("opeva"))) as port:
        yield port


@pytest.fixture
def call(port: Port, tmp_path: Path) -> Call:
    more = {"CABLEFERRY_SERVER": f"http://127.0.0.1:{port.client.port}"}
    return lambda *arguments: ferry(tmp_path, "jobs", *arguments, more=more)


def test_jobs_are_listed_shown_and_explained(port: Port, call: Call) -> None:
    waiting, running = port.launch("worker-b"), port.at("running")

    listed = call("list", "--contract", "opeva", "--status", "Running", "--json")
    table = call("list", "--contract", "opeva")
    shown = call("show", waiting, "--contract", "opeva", "--json")
    history = call("history", running, "--contract", "opeva")
    why = call("explain", waiting, "--contract", "opeva")

    assert [running] == [job["job_id"] for job in json.loads(listed.out)["items"]]
    assert (0, True, True) == (table.code, waiting in table.out, "Demo-1" in table.out)
    assert (0, "queued") == (shown.code, json.loads(shown.out)["status"])
    assert ("dispatched" in history.out, "worker:worker-a" in history.out) == (True, True)
    assert "worker-b" in why.out


def test_orders_are_given_and_refused(port: Port, call: Call) -> None:
    job = port.at("running")

    refused = call("requeue", job)
    requeued = call("requeue", job, "--force", "--host", "worker-b", "--pin")
    canceled = call("cancel", job, "--contract", "opeva", "--reason", "enough")
    failed = call("fail", job, "--force", "--reason", "lost its data", "--json")

    assert (4, True) == (refused.code, "use force" in refused.err)
    assert (0, f"{job} is queued\n") == (requeued.code, requeued.out)
    assert (0, f"{job} is canceled\n") == (canceled.code, canceled.out)
    assert (0, "failed") == (failed.code, json.loads(failed.out)["items"][0]["status"])
    assert "lost its data" == port.status(job)["error"]


def test_a_job_is_stopped_and_deleted(port: Port, call: Call) -> None:
    job = port.at("running")

    assert (0, f"{job} is stop_requested\n") == ((done := call("stop", job)).code, done.out)
    assert 4 == call("delete", job, "--contract", "opeva").code
    assert 0 == call("delete", job, "--contract", "opeva", "--force").code
    assert 404 == port.get(f"/status/{job}").status


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "--contract", "opeva", "--status", "PENDING"),
        ("list", "--status", "queued"),
        ("cancel", "x", "--force"),
        ("logs", "x", "--contract", "opeva", "--stream", "stderr"),
        ("logs", "x", "--contract", "opeva", "--tail", "6000"),
    ],
)
def test_words_of_the_other_contract_are_no_words_here(call: Call, arguments: tuple[str, ...]) -> None:
    assert 2 == call(*arguments).code


def _wrote(port: Port, job: str, content: bytes) -> None:
    log = port.share / "jobs" / job / "logs" / f"{job}.log"
    port.until(log.parent.is_dir)
    log.write_bytes(content)


def test_waiting_and_watching_end_with_the_job(port: Port, call: Call) -> None:
    finished, stopped, running = port.at("finished"), port.at("stopped"), port.at("running")

    waited = call("wait", finished, stopped, "--contract", "opeva", "--json")
    watched = call("watch", finished, "--contract", "opeva", "--json")

    assert (8, ["finished", "stopped"]) == (waited.code, [job["status"] for job in json.loads(waited.out)["items"]])
    moves = [json.loads(line)["new"] for line in watched.out.splitlines()]
    assert (0, ["queued", "dispatched", "running", "finished"]) == (watched.code, moves)
    assert [9, 9] == [call(verb, running, "--contract", "opeva", "--max-wait", "0").code for verb in ("wait", "watch")]


def test_a_log_is_shown_as_it_is_and_followed_to_the_end(port: Port, call: Call) -> None:
    job, silent = port.at("finished"), port.at("running")
    _wrote(port, job, "eins\nzwei\ndr\u00e4i\n".encode())

    shown = call("logs", job, "--contract", "opeva")
    end = call("logs", job, "--contract", "opeva", "--tail", "1")
    followed = call("logs", job, "--contract", "opeva", "--follow")

    assert [(0, "eins\nzwei\ndr\u00e4i\n"), (0, "dr\u00e4i\n")] == [(each.code, each.out) for each in (shown, end)]
    assert (0, shown.out, True) == (followed.code, followed.out, "finished" in followed.err)
    assert 3 == call("logs", silent, "--contract", "opeva").code


def test_a_job_is_followed_while_it_writes(port: Port, tmp_path: Path) -> None:
    job = port.at("running")
    _wrote(port, job, b"one\n")
    server = {"CABLEFERRY_SERVER": f"http://127.0.0.1:{port.client.port}"}

    arguments = [*program.FERRY, "jobs", "logs", job, "--follow", "--contract", "opeva"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, env=program.environment(tmp_path, server)) as following:
        assert following.stdout is not None
        assert b"one\n" == following.stdout.readline()
        _wrote(port, job, b"one\ntwo\n")
        assert b"two\n" == following.stdout.readline()
        port.say(job, "failed", exit_code=1)
        assert b"" == following.stdout.read()

    assert 8 == following.returncode
