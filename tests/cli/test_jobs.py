"""Jobs from the command line, against a real server."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.wire.emx2.bodies import Capability, RegisterBody, TransitionBody
from tests.cli import ferry as program
from tests.cli.ferry import Ended, ferry, serving


class Desk:
    """Somebody with a home folder at a server's command line."""

    def __init__(self, home: Path, server: str) -> None:
        self.home = home
        self.server = server

    def ask(self, *arguments: str, given: str = "") -> Ended:
        return ferry(self.home, *arguments, given=given, more={"CABLEFERRY_SERVER": self.server})

    def submit(self, *arguments: str) -> str:
        created: str = json.loads(self.ask("jobs", "submit", "echo", "--json", *arguments).out)["id"]
        return created

    def end(self, job: str, status: str, detail: str = "done") -> None:
        """What a worker would do about a job."""
        with program.client(self.server) as client:
            client.register(RegisterBody("w1", capabilities=[Capability("echo")]))
            client.claim(job, "w1")
            for each in ("SUBMITTED", "STARTED", status):
                client.transition(job, TransitionBody(each, "w1", detail))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    with serving(folder / "data", is_open=True) as server:
        yield Desk(folder, server)


def test_a_job_is_submitted_as_described(desk: Desk) -> None:
    file = desk.home / "parameters.json"
    file.write_text('{"a": 1, "b": 2}')
    job = desk.submit(
        *("--profile", "small", "--params-file", str(file), "--param", "b=[3]", "--param", "c=plain text"),
        *("--input", "one", "--input", "two", "--timeout", "60", "--priority", "5"),
    )

    shown = json.loads(desk.ask("jobs", "show", job, "--json").out)

    assert shown["parameters"] == {"a": 1, "b": [3], "c": "plain text"}
    assert [shown[name] for name in ("profile", "inputs", "timeout_seconds", "priority", "status")] == [
        "small",
        ["one", "two"],
        60,
        5,
        "PENDING",
    ]


def test_the_same_key_makes_the_job_once(desk: Desk) -> None:
    assert desk.submit("--key", "once") == desk.submit("--key", "once")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("jobs", "show", "01a1f0aa-0000-7000-8000-000000000000"), 3),
        (("jobs", "delete", "01a1f0aa-0000-7000-8000-000000000000"), 3),
        (("jobs", "submit", "echo", "--param", "novalue"), 2),
        (("jobs", "submit", "echo", "--priority", "high"), 2),
        (("jobs", "submit", "echo", "--params-file", "none.json"), 2),
        (("jobs", "submit", "a\tb"), 5),
        (("jobs", "list", "--all", "--status", "PENDING"), 2),
        (("jobs", "list", "--server", "http://127.0.0.1:1"), 7),
        (("workers", "show", "nobody"), 3),
        (("jobs", "fly"), 2),
        (("jobs", "list", "--server", "ferry.example.org"), 2),
        (("jobs", "list", "--server", "ftp://ferry.example.org"), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_done_has_its_own_exit_code(desk: Desk, arguments: tuple[str, ...], code: int) -> None:
    plain, as_json = desk.ask(*arguments), desk.ask(*arguments, "--json")

    assert (plain.code, as_json.code, as_json.out) == (code, code, "")
    assert json.loads(as_json.err)["detail"]


def test_a_cancelled_job_cannot_be_cancelled_again_for_another_reason(desk: Desk) -> None:
    job = desk.submit()
    codes = [desk.ask("jobs", "cancel", job, "--reason", reason).code for reason in ("wrong input", "another")]

    assert codes == [0, 4]
    assert "wrong input" in desk.ask("jobs", "history", job).out


def test_a_deleted_job_is_gone(desk: Desk) -> None:
    job = desk.submit()

    assert [desk.ask("jobs", "delete", job).code, desk.ask("jobs", "show", job).code] == [0, 3]


def test_jobs_are_listed_by_status(desk: Desk) -> None:
    job = desk.submit("--profile", "listed")
    other = desk.submit("--profile", "listed")
    desk.ask("jobs", "cancel", other)

    def listed(*flags: str) -> set[str]:
        listing = json.loads(desk.ask("jobs", "list", "--profile", "listed", "--json", *flags).out)
        return {item["id"] for item in listing["items"]}

    assert [listed(), listed("--status", "cancelled"), listed("--all")] == [{job}, {other}, {job, other}]
    assert job in desk.ask("jobs", "list").out


def test_a_job_is_explained_in_a_sentence(desk: Desk) -> None:
    job = desk.submit("--profile", "unheard-of")

    assert len(desk.ask("jobs", "explain", job).out.splitlines()) == 1
    assert json.loads(desk.ask("jobs", "explain", job, "--json").out)["job_id"] == job


@pytest.mark.parametrize(("status", "code"), [("COMPLETED", 0), ("FAILED", 8)])
def test_waiting_tells_how_the_job_ended(desk: Desk, status: str, code: int) -> None:
    job = desk.submit()
    more = {"CABLEFERRY_SERVER": desk.server}
    with subprocess.Popen(
        [*program.FERRY, "jobs", "wait", job, "--json", "--max-wait", "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=program.environment(desk.home, more),
    ) as waiting:
        assert waiting.stderr is not None
        # it has seen the job before the job ends
        assert b"PENDING" in waiting.stderr.readline()
        desk.end(job, status)
        out, _ = waiting.communicate()

    assert (waiting.returncode, json.loads(out)["status"]) == (code, status)


def test_waiting_for_several_tells_the_worst(desk: Desk) -> None:
    jobs = [desk.submit(), desk.submit()]
    desk.end(jobs[0], "FAILED")
    desk.end(jobs[1], "COMPLETED")
    ended = desk.ask("jobs", "wait", *jobs, "--json")

    assert ended.code == 8
    assert [item["status"] for item in json.loads(ended.out)["items"]] == ["FAILED", "COMPLETED"]


@pytest.mark.parametrize("verb", ["wait", "watch"])
def test_patience_ends_with_a_code_of_its_own(desk: Desk, verb: str) -> None:
    assert desk.ask("jobs", verb, desk.submit(), "--max-wait", "0").code == 9


def test_watching_prints_every_report_once(desk: Desk) -> None:
    job = desk.submit()
    desk.end(job, "COMPLETED")
    ended = desk.ask("jobs", "watch", job, "--json")

    told = [json.loads(line)["to_status"] for line in ended.out.splitlines()]
    assert (ended.code, told) == (0, ["PENDING", "CLAIMED", "SUBMITTED", "STARTED", "COMPLETED"])


def test_a_terminal_is_not_moved_by_what_a_job_says(desk: Desk) -> None:
    job = desk.submit()
    desk.end(job, "FAILED", "\x1b[2J\x07 \x9b31m gone")

    assert all(sign not in desk.ask("jobs", "history", job).out for sign in "\x1b\x07\x9b")


def test_ctrl_c_ends_without_a_traceback(desk: Desk) -> None:
    job = desk.submit()
    with subprocess.Popen(
        [*program.FERRY, "jobs", "wait", job],
        stderr=subprocess.PIPE,
        env=program.environment(desk.home, {"CABLEFERRY_SERVER": desk.server}),
    ) as waiting:
        assert waiting.stderr is not None
        waiting.stderr.readline()
        waiting.send_signal(signal.SIGINT)
        _, err = waiting.communicate(timeout=30)

    assert (waiting.returncode, b"Traceback" in err) == (130, False)


def test_a_worker_is_drained_and_resumed(desk: Desk) -> None:
    with program.client(desk.server) as client:
        client.register(RegisterBody("w8", "host", [Capability("echo", "small", 2)]))

    drained = desk.ask("workers", "drain", "w8")
    resumed = json.loads(desk.ask("workers", "resume", "w8", "--json").out)

    assert "worker w8 takes no more jobs, and holds 0 jobs\n" == drained.out
    assert (None, "w8") == (resumed["drained_at"], resumed["worker_id"])
    assert [3, 0] == [desk.ask("workers", *asked).code for asked in (("drain", "nobody"), ("delete", "w8"))]


def test_workers_are_listed_shown_and_removed(desk: Desk) -> None:
    with program.client(desk.server) as client:
        client.register(RegisterBody("w9", "host", [Capability("echo", "small", 2)]))
    listed = json.loads(desk.ask("workers", "list", "--json").out)
    shown = desk.ask("workers", "show", "w9").out
    deleted = desk.ask("workers", "delete", "w9")

    assert "w9" in {item["worker_id"] for item in listed["items"]}
    assert "small" in shown
    assert [deleted.code, desk.ask("workers", "delete", "w9").code] == [0, 3]


def test_the_settings_file_names_the_server(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / ".config" / "cableferry" / "client.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'server = "{desk.server}"\n')

    assert ferry(tmp_path, "workers", "list").code == 0


@pytest.mark.parametrize(("text", "mode"), [('token = "x"', 0o644), ("serfer = 1", 0o600), ("[", 0o600)])
def test_a_bad_settings_file_is_refused_by_name(tmp_path: Path, text: str, mode: int) -> None:
    file = tmp_path / "client.toml"
    file.write_text(text)
    file.chmod(mode)
    ended = ferry(tmp_path, "workers", "list", more={"CABLEFERRY_CLIENT_CONFIG": str(file)})

    assert ended.code == 2
    assert "client.toml" in ended.err
