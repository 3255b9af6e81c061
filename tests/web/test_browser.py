"""The dashboard in a real browser, against a real server and worker: each file of web/tests is one test here."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from cableferry.cli import stage
from cableferry.server import site
from tests.house.sources import ROOT

FOLDER = ROOT / "web" / "tests"
STORIES = sorted(path.name for path in FOLDER.glob("*.test.mjs"))
LONGEST_SECONDS = 240

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
            "STORY_FOLDER": str(folder),
            "STORY_TOKEN": _text(folder / "token"),
            "STORY_PASSWORD": _text(folder / "password"),
        }


def _text(path: Path) -> str:
    return path.read_text().strip()


@pytest.mark.parametrize("story", STORIES)
def test_the_story(place: dict[str, str], story: str, tmp_path: Path) -> None:
    code, told = _run(str(FOLDER / story), place, tmp_path)

    assert code == 0, told
    assert "skipped 0" in told


def test_a_story_that_hangs_ends_and_says_at_which_step(place: dict[str, str], tmp_path: Path) -> None:
    hangs = tmp_path / "hangs.mjs"
    hangs.write_text(
        f'import {{ opened, story }} from "{FOLDER / "browser.mjs"}";\n'
        'story("waits for good", async () => {\n'
        "  await (await opened()).evaluate(() => new Promise(() => {}));\n"
        "}, 5);\n"
    )

    code, told = _run(str(hangs), place, tmp_path)

    assert code == 1
    assert "test timed out after 5000ms" in told
    assert "=> page.evaluate started" in told


def _run(story: str, place: Mapping[str, str], folder: Path) -> tuple[int, str]:
    """How it ended, and what it said with its last steps behind it; whatever it started ends with it."""
    steps = {"DEBUG": "pw:api", "DEBUG_COLORS": "0", "DEBUG_HIDE_DATE": "1"}
    with (folder / "told").open("wb") as told, (folder / "steps").open("wb") as step:
        started = subprocess.Popen(
            ["node", "--test-reporter=spec", story],
            env={**os.environ, **place, **steps},
            stdout=told,
            stderr=step,
            start_new_session=True,
        )
        try:
            code = started.wait(LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            code = -1
        finally:
            _end(started)
    last = "\n".join((folder / "steps").read_text().splitlines()[-12:])
    return code, f"{(folder / 'told').read_text()[-6000:]}\nThe last steps:\n{last}"


def _end(started: subprocess.Popen[bytes]) -> None:
    if started.poll() is not None:
        return
    # the browser is in a group of its own, and goes when its owner is asked to
    os.killpg(started.pid, signal.SIGTERM)
    try:
        started.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
