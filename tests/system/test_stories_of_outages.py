"""Parts of the cluster that go away and come back."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.cluster_daemon import ClusterDaemon

pytestmark = pytest.mark.slurm


@contextlib.contextmanager
def _silent(daemon: ClusterDaemon, name: str) -> Iterator[None]:
    """While one of the cluster's daemons takes calls and answers none."""
    pid = int((Path(daemon.cluster.slurm_conf).parent.parent / "run" / f"{name}.pid").read_text())
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_jobs_go_on_while_nobody_keeps_accounts(daemon: ClusterDaemon) -> None:
    if not daemon.cluster.has_accounting:
        pytest.skip("this site keeps no accounts")
    daemon.offer("good", script='echo ran >>"$GATE/ran-$HPC_JOB_ID"; echo made >"$HPC_OUTPUT_DIR/made"')
    daemon.offer("bad", script="exit 3")
    daemon.offer("hold", script='while [ ! -e "$GATE/go" ]; do sleep 0.1; done')
    before = daemon.submit("hold")
    daemon.start()
    daemon.until(before, "STARTED")
    with _silent(daemon, "slurmdbd"):
        jobs = [daemon.submit("good") for _ in range(3)]
        bad = daemon.submit("bad")
        (daemon.folder / "go").touch()
        ended = [daemon.ended(job) for job in (before, *jobs)]
        failed = daemon.ended(bad)
    after = daemon.ended(daemon.submit("good"))

    assert [job.status for job in (*ended, after)] == ["COMPLETED"] * 5, [job.detail for job in ended]
    assert (failed.status, failed.usage and failed.usage.exit_code) == ("FAILED", 3)
    assert [(daemon.folder / f"ran-{job}").read_text() for job in jobs] == ["ran\n"] * 3
