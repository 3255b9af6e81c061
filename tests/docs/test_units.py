"""The service of systemd that the pages show, as systemd itself judges it."""

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs import pages

UNITS = [(page, block) for page in pages.every() for block in pages.blocks(page) if block.marks == {"unit"}]
# of ten, where ten is a service that may do everything its user may
MOST_EXPOSURE = 30


@pytest.mark.parametrize(("page", "block"), UNITS, ids=lambda value: getattr(value, "stem", "unit"))
def test_a_shown_service_is_one_that_systemd_takes(page: Path, block: pages.Block, tmp_path: Path) -> None:
    said = configparser.ConfigParser(strict=True, interpolation=None)
    said.optionxform = str  # type: ignore[assignment,method-assign]  # the library's own way to keep capital letters
    said.read_string(block.text)
    service = said["Service"]
    program, _, arguments = service["ExecStart"].partition(" ")
    assert ("notify", "cableferry") == (service["Type"], Path(program).name)
    assert arguments.startswith("daemon run -c ")
    # the program and its user are not on this machine
    service["ExecStart"], service["User"] = "/bin/true", "root"
    unit = tmp_path / "cableferry-daemon.service"
    with unit.open("w") as file:
        said.write(file, space_around_delimiters=False)

    if shutil.which("systemd-analyze") is None:
        return
    assert ("", 0) == _analyzed("verify", str(unit))
    assert 0 == _analyzed("security", "--offline=yes", f"--threshold={MOST_EXPOSURE}", str(unit))[1]


def _analyzed(*arguments: str) -> tuple[str, int]:
    finished = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, timeout=60)
    return finished.stderr, finished.returncode
