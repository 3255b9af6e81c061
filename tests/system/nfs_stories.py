"""Jobs whose folder the head node sees over an NFS that remembers for half a minute what was not there.

Not among the tests of every day, because it boots a machine: make cluster-nfs.
"""

from collections.abc import Iterator

import pytest

from tests import clusters
from tests.cli import ferry as program
from tests.schedulers.waiting import until
from tests.system import nfs_head
from tests.system.nfs_head import NfsHead

HOLD = 'while [ ! -e "$GATE/go-$HPC_JOB_ID" ]; do sleep 0.1; done'
# after a while in which the daemon has looked in vain for everything that it writes then
LATE = "sleep 4; "


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NfsHead]:
    """One that keeps no accounts: there is nothing but the folder to learn from how a job ended."""
    with (
        clusters.forgetful() as cluster,
        nfs_head.served() as export,
        program.serving(tmp_path_factory.mktemp("server"), is_open=True) as server,
        program.client(server) as client,
    ):
        head = NfsHead(cluster, export, server, client)
        head.offer(
            "good",
            script=LATE
            + 'for n in 0 1 2; do echo "{\\"phase\\": \\"p$n\\"}" >>"$HPC_OUTPUT_DIR/.hpc_progress.jsonl"; done; '
            'echo said; mkdir "$HPC_OUTPUT_DIR/deep"; echo made >"$HPC_OUTPUT_DIR/deep/made"',
        )
        head.offer("three", script=LATE + "exit 3")
        head.offer("hold", script=f"{LATE}echo early; {HOLD}; echo late")
        head.offer("use", script='cat "$HPC_INPUT_DIR"/*/deep/made >"$HPC_OUTPUT_DIR/used"')
        try:
            head.boot()
            yield head
        finally:
            head.power_off()


def test_all_that_a_job_leaves_is_found_at_once(head: NfsHead) -> None:
    with head.blind("good"):
        job = head.submit("good")
        ended = head.ended(job)

    assert ended.status == "COMPLETED", ended.detail
    assert ["p0", "p1", "p2"] == [row.phase for row in head.history(job) if row.phase]
    assert {"deep/made": b"made\n"} == head.files(ended.output_artifact_id)
    assert b"said\n" == head.files(ended.log_artifact_id)["stdout.log"]


def test_an_exit_code_is_found_at_once(head: NfsHead) -> None:
    with head.blind("three"):
        ended = head.ended(head.submit("three"))

    assert "FAILED" == ended.status
    assert "exit_code=3" in (ended.detail or "")


def test_a_log_is_read_while_its_job_runs(head: NfsHead) -> None:
    job = head.submit("hold")
    head.until(job, "STARTED")
    with head.blind("log"):
        until(lambda: head.said(job) == b"early\n")
    (head.folder / f"go-{job}").touch()
    ended = head.ended(job)

    assert b"early\nlate\n" == head.files(ended.log_artifact_id)["stdout.log"]


def test_a_job_that_slurm_has_forgotten_is_told_by_its_note(head: NfsHead) -> None:
    job = head.submit("hold")
    slurm_id = head.until(job, "STARTED").slurm_job_id or ""
    with head.blind("forgotten"):
        with head.frozen():
            (head.folder / f"go-{job}").touch()
            until(lambda: slurm_id not in head.slurm("squeue", "-h", "-t", "all", "-o", "%A").split())
        ended = head.ended(job)

    assert ("COMPLETED", None) == (ended.status, ended.cause)


def test_the_output_of_one_job_is_input_of_the_next(head: NfsHead) -> None:
    made = head.ended(head.submit("good"))
    with head.blind("use"):
        used = head.ended(head.submit("use", inputs=[made.output_artifact_id]))

    assert {"used": b"made\n"} == head.files(used.output_artifact_id)
