"""The commands that the pages show run, against a real server."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cableferry.testing import servers
from tests.docs import pages
from tests.docs.pages import Block

PAGES = [page for page in pages.by_hand() if any("run" in block.marks for block in pages.blocks(page))]
DEFAULT = "http://127.0.0.1:8710"
# what makes a command fail that would only print a refusal
REFUSED = '"type":"urn:cableferry:problem:'


@pytest.mark.parametrize("page", PAGES, ids=pages.name)
def test_the_commands_of_the_page_run(page: Path, tmp_path: Path) -> None:
    for name in ("data", "home", "backups", "secrets"):
        (tmp_path / name).mkdir()

    with servers.running(servers.settings_in(tmp_path / "data")) as server:
        for block in pages.blocks(page):
            if "run" in block.marks:
                ran = _run(block, server.address, tmp_path)
                assert ran.returncode == 0, ran.stderr
                assert REFUSED not in ran.stdout, ran.stdout


def _run(block: Block, address: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A block as it stands, save that the server is not at its usual port and the programs are those of this test."""
    script = block.text.replace(DEFAULT, address).replace(". .venv/bin/activate", ":")
    shell = [sys.executable, "-c"] if block.language == "python" else ["bash", "-eu", "-o", "pipefail", "-c"]
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder / "home"),
        "CABLEFERRY_SERVER": address,
        "CABLEFERRY_DATABASE__DATA_DIR": str(folder / "data"),
        "BACKUPS": str(folder / "backups"),
        "SECRETS": str(folder / "secrets"),
    }
    return subprocess.run(
        [*shell, script],
        env=environment, capture_output=True, text=True, cwd=folder, timeout=60, check=False,
    )  # fmt: skip


def test_the_readme_shows_a_session() -> None:
    assert "README.md" in [pages.name(page) for page in PAGES]
