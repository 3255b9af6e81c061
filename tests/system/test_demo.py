"""The demo, as `make demo` runs it."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from cableferry.cli import stage
from tests.cli import ferry as program
from tests.cli.ferry import ferry


def _left_over(folder: Path) -> list[str]:
    """Processes that were given anything in the folder, or run in it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            lines = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            place = os.readlink(process / "cwd")
        except OSError:
            continue
        if os.fsencode(folder) in lines or place.startswith(str(folder)):
            found.append(f"{process.name}: {lines[:200]!r}")
    return found


def test_the_demo_ends_by_itself_with_the_right_output_and_leaves_nothing_running(tmp_path: Path) -> None:
    ended = ferry(tmp_path, "demo", "--dir", str(tmp_path / "demo"), "--json")

    shown = json.loads(ended.out)
    assert (ended.code, shown["job"]["status"]) == (0, "COMPLETED")
    assert json.loads(shown["output"]["content"]) == {"below": stage.BELOW, "primes": stage.PRIMES}
    assert json.loads(Path(shown["output"]["file"]).read_text())["primes"] == stage.PRIMES
    assert "count" in {row["phase"] for row in shown["history"]}
    assert _left_over(tmp_path) == []


def test_the_demo_counts_its_primes_rightly() -> None:
    primes = sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, stage.BELOW))

    assert primes == stage.PRIMES


def test_a_folder_can_be_used_again(tmp_path: Path) -> None:
    ask = ("demo", "--dir", str(tmp_path / "demo"), "--json")

    assert [ferry(tmp_path, *ask).code, ferry(tmp_path, *ask).code] == [0, 0]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_a_demo_that_is_ended_early_stops_all_it_started(tmp_path: Path, number: int, code: int) -> None:
    with subprocess.Popen(
        [*program.FERRY, "demo", "--dir", str(tmp_path / "demo")],
        env=program.environment(tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as demo:
        assert demo.stderr is not None
        for line in demo.stderr:
            if "STARTED" in line:
                demo.send_signal(number)
                break
        demo.communicate(timeout=30)

    assert (demo.returncode, _left_over(tmp_path)) == (code, [])


def test_a_kept_demo_answers_until_it_is_ended(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*program.FERRY, "demo", "--keep", "--dir", str(tmp_path / "demo")],
        env=program.environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as demo:
        assert demo.stderr is not None
        said = list(iter(demo.stderr.readline, "Ctrl-C stops the server and the worker.\n"))
        server = said[0].rpartition(" ")[2].strip()
        ask = ("workers", "list", "--server", server, "--token-file", str(tmp_path / "demo" / "token"))
        listed = ferry(tmp_path, *ask)
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=30)

    assert (listed.code, stage.WORKER in listed.out, demo.returncode) == (0, True, 0)
    assert _left_over(tmp_path) == []
