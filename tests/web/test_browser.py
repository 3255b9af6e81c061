"""The dashboard in a real browser, against a real server and worker: each file of web/tests is one test here."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.cli import stage
from cableferry.server import site
from tests.house.sources import ROOT

FOLDER = ROOT / "web" / "tests"
STORIES = sorted(path.name for path in FOLDER.glob("*.test.mjs"))

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    browser = shutil.which("chromium")
    if browser is None or not (site.BUILT / "index.html").exists():
        pytest.skip("no dashboard or no browser here: tools/web.sh and tools/browser.sh say how to get them")
    folder = tmp_path_factory.mktemp("dashboard")
    with stage.raised(folder) as (server, _):
        yield {
            "STORY_BROWSER": browser,
            "STORY_PYTHON": sys.executable,
            "STORY_SERVER": server,
            "STORY_TOKEN": _text(folder / "token"),
            "STORY_PASSWORD": _text(folder / "password"),
        }


def _text(path: Path) -> str:
    return path.read_text().strip()


@pytest.mark.parametrize("story", STORIES)
def test_the_story(place: dict[str, str], story: str) -> None:
    told = subprocess.run(
        ["node", "--test", "--test-reporter=spec", str(FOLDER / story)],
        env={**os.environ, **place},
        capture_output=True,
        text=True,
        timeout=240,
    )

    assert told.returncode == 0, told.stdout[-6000:] + told.stderr[-2000:]
    assert "skipped 0" in told.stdout
