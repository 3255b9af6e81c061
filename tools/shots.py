"""Pictures of every page of the dashboard for the docs, taken of a real server that has some sample data."""

import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import apsw

from cableferry.cli import stage

ROOT = Path(__file__).parent.parent


# a day and a bit, so that the charts have something to draw
_MINUTES = 1500
_SAMPLE = "INSERT INTO samples (pool, at, state, jobs) VALUES ('emx2', ?, ?, ?) ON CONFLICT DO NOTHING"


def history(data: Path) -> None:
    """How many jobs there might have been in each state, minute by minute."""
    now = int(time.time()) // 60 * 60
    connection = apsw.Connection(str(data / "cableferry.db"))
    connection.set_busy_timeout(20_000)
    with connection:
        for minute in range(_MINUTES):
            wave = 1 - math.cos(2 * math.pi * minute / _MINUTES)
            counts = {
                "ready": 3 + 30 * wave + 9 * math.sin(minute / 37) ** 2,
                "claimed": 1 + math.sin(minute / 11) ** 2 * 3,
                "submitted": 4 + 6 * wave,
                "running": 6 + 14 * wave + 3 * math.sin(minute / 53) ** 2,
                "succeeded": minute * 0.4 + 25 * math.sin(minute / 90),
                "failed": minute * 0.03 + 4 * math.sin(minute / 200) + 4,
            }
            at = now - (_MINUTES - minute) * 60
            connection.executemany(_SAMPLE, [(at, state, int(jobs)) for state, jobs in counts.items()])
    connection.close()


def main() -> int:
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("shots: Chromium is not here; tools/browser.sh says how to get it")
    with tempfile.TemporaryDirectory() as name, stage.raised(folder := Path(name)) as (server, _):
        history(folder / "data")
        told = {
            "STORY_BROWSER": browser,
            "STORY_PYTHON": sys.executable,
            "STORY_SERVER": server,
            "STORY_TOKEN": (folder / "token").read_text().strip(),
            "STORY_PASSWORD": (folder / "password").read_text().strip(),
            "SHOTS_FOLDER": os.environ.get("SHOTS_FOLDER", str(ROOT / "docs" / "shots")),
        }
        return subprocess.call(["node", str(ROOT / "web" / "shots.mjs")], env={**os.environ, **told})


if __name__ == "__main__":
    sys.exit(main())
