"""How soon the dashboard can be used and shows a change, what thousands of events leave behind, and a large upload."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench import report, servers
from cableferry.cli import stage

ROOT = Path(__file__).parent.parent
LONGEST_SECONDS = 900
MORE = (
    "script_kb",
    "heap_early_mib",
    "heap_late_mib",
    "hash_mb_s",
    "hash_floor_mb_s",
    "upload_mb_s",
    "at_the_kill_mib",
)

Found = dict[str, float]


def main(loads: int = 9, updates: int = 40, events: int = 2000, mib: int = 1024) -> None:
    found = measured({"loads": loads, "updates": updates, "events": events, "mib": mib})
    rows = [
        _row("the list can be used", found["interactive_ms"], found["interactive_max_ms"], found["empty_ms"]),
        _row("a change is seen in the list", found["list_p50_ms"], found["list_max_ms"], found["list_heard_ms"]),
        _row("a change is seen on a job's page", found["job_p50_ms"], found["job_max_ms"], found["job_heard_ms"]),
    ]
    report.table("Milliseconds in the browser", ("", "median", "slowest", "floor"), rows)
    rows = [(name.replace("_", " "), f"{found[name]:.1f}") for name in MORE]
    report.table(f"{events} reports and {events * 100} lines of log; {mib} MiB sent, the server killed", ("", ""), rows)
    value, floor = found.pop("interactive_ms"), found.pop("empty_ms")
    report.result("dashboard", value, "ms", floor, **found)


def measured(sizes: dict[str, int]) -> Found:
    """What web/bench.mjs finds out, of a server and a worker of its own."""
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("bench: Chromium is not here; tools/browser.sh says how to get it")
    with servers.folder() as folder, stage.raised(folder) as (server, _):
        told = {
            "STORY_BROWSER": browser,
            "STORY_PYTHON": sys.executable,
            "STORY_SERVER": server,
            "STORY_TOKEN": (folder / "token").read_text().strip(),
            "STORY_PASSWORD": (folder / "password").read_text().strip(),
            "BENCH_SIZES": json.dumps(sizes),
            "BENCH_FILE": str(folder / "found.json"),
        }
        command = ["node", str(ROOT / "web" / "bench.mjs")]
        quiet = subprocess.DEVNULL
        subprocess.run(command, env={**os.environ, **told}, check=True, stdout=quiet, timeout=LONGEST_SECONDS)
        found: Found = json.loads((folder / "found.json").read_text())
        return found


def _row(name: str, *values: float) -> report.Row:
    return (name, *(f"{value:.0f}" for value in values))


if __name__ == "__main__":
    main()
