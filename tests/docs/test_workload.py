"""The workload that the page shows does what the page says."""

import json
import subprocess
from pathlib import Path

from tests.docs import pages


def test_the_shown_workload_runs(tmp_path: Path) -> None:
    (block,) = pages.blocks(pages.DOCS / "how-to/write-a-workload.md")
    folders = {name: tmp_path / name for name in ("input", "output", "work")}
    for folder in folders.values():
        folder.mkdir()
    (folders["input"] / "a").mkdir()
    (folders["input"] / "a" / "x.txt").write_text("hi\n")
    seen = {f"HPC_{name.upper()}_DIR": str(folder) for name, folder in folders.items()}

    ran = subprocess.run(
        ["/bin/bash", "-c", block.text],
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HPC_PARAMETERS": '{"model": "x $(y)"}', **seen},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "model x $(y) read 1 lines\n") == (ran.returncode, ran.stdout), ran.stderr
    assert "x.txt" in (folders["output"] / "result.txt").read_text()
    lines = (folders["output"] / ".hpc_progress.jsonl").read_text().splitlines()
    assert [0.1, 0.9] == [json.loads(line)["progress"] for line in lines]
