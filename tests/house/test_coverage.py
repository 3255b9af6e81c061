"""Every branch of the core is walked by the core's own tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.house.sources import ROOT


def test_the_tests_of_the_core_walk_every_branch(tmp_path: Path) -> None:
    environment = {**os.environ, "COVERAGE_FILE": str(tmp_path / "data"), "PYTEST_ADDOPTS": ""}
    run = [
        "run",
        "--branch",
        "--source=cableferry.core",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:xdist",
        "tests/core",
    ]
    tested = _coverage(run, environment)
    report = tmp_path / "report.json"
    _coverage(["combine", "--quiet"], environment)
    _coverage(["json", "--quiet", "-o", str(report)], environment)

    assert tested.returncode == 0, tested.stdout
    missed = {
        name: file["missing_lines"] + file["missing_branches"]
        for name, file in json.loads(report.read_text())["files"].items()
        if file["missing_lines"] or file["missing_branches"]
    }
    assert {} == missed


def _coverage(arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coverage", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
