"""Pictures of every page of the dashboard for the docs, taken of a real server that has some sample data."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cableferry.cli import stage

ROOT = Path(__file__).parent.parent


def main() -> int:
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("shots: Chromium is not here; tools/browser.sh says how to get it")
    with tempfile.TemporaryDirectory() as name, stage.raised(folder := Path(name)) as (server, _):
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
