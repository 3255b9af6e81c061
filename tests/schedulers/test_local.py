"""Real processes on this machine, looked at by whoever comes later."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.schedulers import wrapper
from cableferry.schedulers.local import Local
from cableferry.schedulers.protocol import Accepted, Ending, Found, Order, Phase, Refused, Sighting, Ticket
from tests.schedulers.waiting import until

A = Ticket("a", "")

STARTER = """
import sys
from pathlib import Path
from cableferry.schedulers.local import Local
from cableferry.schedulers.protocol import Order
folder = sys.argv[1]
Local(Path(folder) / "runs").submit(Order("a", ("sleep", "60"), folder, folder, {"PATH": "/usr/bin:/bin"}))
"""


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    local = Local(tmp_path / "runs")
    yield local
    for run in (tmp_path / "runs").iterdir():
        local.cancel(Ticket(run.name, ""), is_urgent=True)


def _order(folder: Path, *command: str, name: str = "a") -> Order:
    return Order(name, command, str(folder), str(folder), {"PATH": "/usr/bin:/bin", "WORD": "hé $(date)"})


def _submitted(local: Local, order: Order) -> str:
    submission = local.submit(order)
    assert isinstance(submission, Accepted), submission
    return submission.ticket.called


def _seen(local: Local) -> dict[str, Sighting]:
    return dict(local.sight([A], 0).jobs)


def _pid(called: str) -> int:
    return int(called.removeprefix("local-"))


def _wait(called: str) -> None:
    """Until the process has ended, its child or not."""
    try:
        descriptor = os.pidfd_open(_pid(called))
    except ProcessLookupError:
        return
    assert select.select([descriptor], [], [], 20)[0]
    os.close(descriptor)


def test_a_command_runs_to_its_end(local: Local, tmp_path: Path) -> None:
    called = _submitted(local, _order(tmp_path, "sh", "-c", 'echo "$WORD"; echo oh >&2; exit 3'))
    _wait(called)

    assert _seen(local) == {"a": Sighting(Phase.ENDED, exit_code=3, ending=Ending.FAILED)}
    assert (tmp_path / "stdout.log").read_text() == "hé $(date)\n"
    assert (tmp_path / "stderr.log").read_text() == "oh\n"


def test_an_argument_is_no_shell_text(local: Local, tmp_path: Path) -> None:
    _wait(_submitted(local, _order(tmp_path, "printf", "%s", "$(touch x); `touch y` 'q\" \n")))

    assert (tmp_path / "stdout.log").read_text() == "$(touch x); `touch y` 'q\" \n"
    assert not (tmp_path / "x").exists()


def test_a_missing_program_is_said_in_the_log(local: Local, tmp_path: Path) -> None:
    _wait(_submitted(local, _order(tmp_path, "no-such-program")))

    assert _seen(local)["a"].exit_code == 127
    assert "no-such-program" in (tmp_path / "stderr.log").read_text()


def test_a_name_is_never_started_twice(local: Local, tmp_path: Path) -> None:
    order = _order(tmp_path, "sh", "-c", "echo once")
    first = _submitted(local, order)
    _wait(first)
    second = _submitted(Local(tmp_path / "runs"), order)

    assert first == second
    assert (tmp_path / "stdout.log").read_text() == "once\n"


def test_a_start_that_left_no_trace_is_found_to_be_none_and_made_again(local: Local, tmp_path: Path) -> None:
    (tmp_path / "runs" / "a").mkdir()
    found = local.find("a", 0)
    _wait(_submitted(local, _order(tmp_path, "echo", "once")))

    assert found == Found(True, is_final=True)
    assert (tmp_path / "stdout.log").read_text() == "once\n"


def _wrap(folder: Path, told: int, *command: str) -> None:
    """Start a wrapper by hand, as a starter does that dies next."""
    run, log = folder / "runs" / "a", str(folder / "stdout.log")
    wrapped = [sys.executable, wrapper.__file__, str(run), str(told), log, log, "--", *command]
    subprocess.run(wrapped, pass_fds=(told,), check=True)
    os.close(told)


def test_a_wrapper_that_comes_late_runs_nothing(local: Local, tmp_path: Path) -> None:
    """As one whose starter died before it had noted itself, and that another start has overtaken."""
    _wait(_submitted(local, _order(tmp_path, "echo", "once")))
    ready, told = os.pipe()
    with os.fdopen(ready, "rb") as pipe:
        _wrap(tmp_path, told, "echo", "twice")
        said = pipe.read()

    assert said == b""
    assert (tmp_path / "stdout.log").read_text() == "once\n"


def test_a_wrapper_whose_starter_has_died_runs_its_command(local: Local, tmp_path: Path) -> None:
    (tmp_path / "runs" / "a").mkdir()
    ready, told = os.pipe()
    os.close(ready)
    _wrap(tmp_path, told, "echo", "once")
    until(lambda: _seen(local)["a"].exit_code == 0)

    assert (tmp_path / "stdout.log").read_text() == "once\n"


def test_a_running_job_outlives_its_starter_and_is_found(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", STARTER, str(tmp_path)], check=True)
    later = Local(tmp_path / "runs")
    (ticket,) = later.find("a", 0).tickets
    called = ticket.called
    seen = _seen(later)
    later.cancel(A, is_urgent=True)
    _wait(called)

    assert {"a": Sighting(Phase.RUNNING)} == seen
    assert {"a": Sighting(Phase.GONE)} == _seen(later)


def test_a_crash_before_our_own_note_loses_no_job(local: Local, tmp_path: Path) -> None:
    called = _submitted(local, _order(tmp_path, "sleep", "60"))
    (tmp_path / "runs" / "a" / "started.json").unlink()
    later = Local(tmp_path / "runs")

    assert later.find("a", 0).tickets == (Ticket("a", called),)
    assert _seen(later) == {"a": Sighting(Phase.RUNNING)}


def test_a_name_never_submitted_is_not_found(local: Local) -> None:
    assert local.find("b", 0) == Found(True, is_final=True)


def test_cancelling_ends_the_whole_group(local: Local, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    called = _submitted(local, _order(tmp_path, "sh", "-c", "(exec 9>fifo; sleep 60) & wait"))
    with fifo.open("rb") as end:
        local.cancel(A, is_urgent=False)
        # the end of the file comes when the last process that holds it open has ended
        assert end.read() == b""
    _wait(called)

    assert _seen(local) == {"a": Sighting(Phase.ENDED, signal=signal.SIGTERM, ending=Ending.FAILED)}


def test_a_deaf_command_is_killed_when_it_is_urgent(local: Local, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    called = _submitted(local, _order(tmp_path, "sh", "-c", "trap '' TERM; echo deaf >fifo; while :; do sleep 1; done"))
    assert fifo.read_text() == "deaf\n"
    local.cancel(A, is_urgent=False)
    seen = _seen(local)
    local.cancel(A, is_urgent=True)
    _wait(called)

    assert seen == {"a": Sighting(Phase.RUNNING)}
    assert _seen(local) == {"a": Sighting(Phase.GONE)}


def test_another_process_with_the_same_pid_is_left_alone(local: Local, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as stranger:
        run = tmp_path / "runs" / "a"
        run.mkdir()
        (run / "started.json").write_text(json.dumps({"pid": stranger.pid, "began": "another boot:1"}))
        local.cancel(A, is_urgent=True)
        seen = _seen(local)
        is_alive = stranger.poll() is None
        stranger.kill()

    assert (is_alive, seen) == (True, {"a": Sighting(Phase.GONE)})


@pytest.mark.parametrize("name", ["", "../a", ".", "a/b"])
def test_a_name_stays_inside_its_folder(local: Local, tmp_path: Path, name: str) -> None:
    assert isinstance(local.submit(_order(tmp_path, "true", name=name)), Refused)


def test_an_order_does_not_show_its_environment(tmp_path: Path) -> None:
    assert "date" not in repr(_order(tmp_path, "true"))
