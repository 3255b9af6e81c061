"""The generated pages say what the code says."""

import subprocess
import sys

from tests.house.sources import ROOT


def test_every_generated_page_is_fresh() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "tools.docs", "--check"], capture_output=True, text=True, cwd=ROOT, check=False
    )

    assert "" == checked.stdout + checked.stderr
