"""What is told of a job while it runs and afterwards: its progress, its log, what it took."""

import json
import signal
import time

import msgspec
import pytest

from tests.schedulers.waiting import until
from tests.system.cluster_daemon import ClusterDaemon

pytestmark = pytest.mark.slurm

LINES = 300


def test_progress_and_log_are_told_line_by_line_though_the_daemon_dies_and_comes_back(daemon: ClusterDaemon) -> None:
    write = (
        f"for number in $(seq {LINES}); do echo $number; "
        'printf \'{"phase": "p%d", "progress": 0.5}\\n\' "$number" >>"$HPC_OUTPUT_DIR/.hpc_progress.jsonl"; '
        'sleep 0.02; done; while [ ! -e "$GATE/go" ]; do sleep 0.1; done'
    )
    daemon.offer("tell", script=write)
    job = daemon.submit("tell")
    daemon.start()
    for number in (LINES // 6, LINES // 3, LINES // 2):
        until(lambda number=number: len(_phases(daemon, job)) > number)
        daemon.stop(signal.SIGKILL)
        daemon.start()
    (daemon.folder / "go").touch()
    ended = daemon.ended(job)

    assert ended.status == "COMPLETED", ended.detail
    assert _phases(daemon, job) == [f"p{number}" for number in range(1, LINES + 1)]
    said = "".join(f"{number}\n" for number in range(1, LINES + 1)).encode()
    assert (daemon.said(job), daemon.files(ended.log_artifact_id)["stdout.log"]) == (said, said)


def _phases(daemon: ClusterDaemon, job: str) -> list[str]:
    told: list[str] = []
    after = None
    while rows := daemon.client.transitions(job, after):
        told += [row.phase for row in rows if row.phase is not None]
        after = rows[-1].sequence
    return told


def test_progress_that_is_written_anew_is_told_too(daemon: ClusterDaemon) -> None:
    write = (
        "for number in 1 2 3; do "
        'printf \'{"phase": "p%d"}\\n\' "$number" >"$HPC_OUTPUT_DIR/.hpc_progress.jsonl"; '
        'until [ -e "$GATE/told$number" ]; do sleep 0.1; done; done'
    )
    daemon.offer("tell", script=write)
    job = daemon.submit("tell")
    daemon.start()
    for number in (1, 2, 3):
        until(lambda number=number: f"p{number}" in _phases(daemon, job))
        (daemon.folder / f"told{number}").touch()
    daemon.ended(job)

    assert _phases(daemon, job) == ["p1", "p2", "p3"]


def test_whoever_watches_a_log_sees_each_line_within_seconds(daemon: ClusterDaemon) -> None:
    write = 'number=0; while [ ! -e "$GATE/go" ]; do number=$((number+1)); date +%s.%N; sleep 0.5; done'
    daemon.offer("tell", script=write)
    job = daemon.submit("tell")
    daemon.start()
    daemon.until(job, "STARTED")
    lags: list[float] = []
    with daemon.client.logs.following(job, "stdout") as events:
        while len(lags) < 20:
            lags += [time.time() - float(line) for line in next(events).content.split()]
    (daemon.folder / "go").touch()
    daemon.ended(job)

    # the first ones were written before anybody watched
    assert sorted(lags[10:])[5] < 5, lags


def test_what_slurm_itself_says_of_a_job_is_in_its_log(daemon: ClusterDaemon) -> None:
    daemon.offer("slow", script="echo begun; sleep 600")
    job = daemon.submit("slow")
    daemon.start()
    slurm_id = daemon.until(job, "STARTED").slurm_job_id or ""
    until(lambda: daemon.said(job) == b"begun\n")
    daemon.slurm("scancel", slurm_id)
    ended = daemon.ended(job)

    assert (ended.status, (ended.detail or "").startswith("cancelled: ")) == ("FAILED", True), ended.detail
    assert b"CANCELLED" in daemon.files(ended.log_artifact_id)["slurm-batch.log"]
    assert b"CANCELLED" in daemon.client.logs.read(job, "slurm-batch")


def test_secrets_are_in_neither_log(daemon: ClusterDaemon) -> None:
    daemon.worker["redact"] = ["password=(?P<secret>[^ \n]+)", "ghp_[A-Za-z0-9]+"]
    script = 'echo "user=me password=hush end"; echo ghp_abc123 >&2; while [ ! -e "$GATE/go" ]; do sleep 0.1; done'
    daemon.offer("leaky", script=script)
    job = daemon.submit("leaky")
    daemon.start()
    until(lambda: daemon.said(job) == b"user=me password=*** end\n")
    (daemon.folder / "go").touch()
    ended = daemon.ended(job)
    files = daemon.files(ended.log_artifact_id)

    assert (files["stdout.log"], files["stderr.log"]) == (b"user=me password=*** end\n", b"***\n")
    assert not any(secret in daemon.log() for secret in ("hush", "ghp_abc123"))


@pytest.mark.parametrize("kind", ["host", "container"])
def test_what_a_job_took_is_kept_with_it(daemon: ClusterDaemon, kind: str) -> None:
    busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 1; exit 3"
    inside = {"sif_image": daemon.cluster.image, "container_entrypoint": ["/bin/sh", "-c", busy]}
    daemon.offer("busy", **({"script": busy} if kind == "host" else inside))
    job = daemon.submit("busy")
    daemon.start()
    usage = daemon.ended(job).usage

    assert usage is not None
    assert (usage.exit_code, usage.signal) == (3, None)
    assert (usage.elapsed_seconds or 0) >= 1
    assert (usage.cpu_seconds or 0) > 0
    assert (usage.max_rss_bytes or 0) > 0, msgspec.json.encode(usage)
    assert usage.nodes in (*daemon.cluster.cpu_nodes, None)


def test_odd_things_in_an_output_folder_lead_nobody_out_of_it(daemon: ClusterDaemon) -> None:
    script = """
        cd "$HPC_OUTPUT_DIR"
        echo kept >kept; ln -s kept inside; ln -s /etc/passwd out; ln -s /nowhere dangling; ln -s . loop; mkfifo pipe
        mkdir empty "odd ü'"; echo odd >"odd ü'/file"; truncate -s 5 sparse; : >nothing
    """
    daemon.offer("odd", script=script)
    job = daemon.submit("odd")
    daemon.start()
    ended = daemon.ended(job)

    assert ended.status == "COMPLETED", ended.detail
    assert daemon.files(ended.output_artifact_id) == {
        "kept": b"kept\n",
        "inside": b"kept\n",
        "odd ü'/file": b"odd\n",
        "sparse": b"\0" * 5,
        "nothing": b"",
    }
    left_out = [json.loads(line) for line in daemon.log().splitlines() if "output left out" in line]
    assert {"out", "dangling", "pipe", "loop"} <= {line["path"] for line in left_out}


@pytest.mark.parametrize("kept", ["never", "failed"])
def test_folders_of_ended_jobs_go_as_their_site_wishes(daemon: ClusterDaemon, kept: str) -> None:
    daemon.worker["keep_work_dirs"] = kept
    daemon.offer("good", script='echo made >"$HPC_OUTPUT_DIR/made"; echo >"$HPC_WORK_DIR/left"')
    daemon.offer("bad", script='echo made >"$HPC_OUTPUT_DIR/made"; echo >"$HPC_WORK_DIR/left"; exit 3')
    good, bad = daemon.submit("good"), daemon.submit("bad")
    daemon.start()
    ended = [daemon.ended(job) for job in (good, bad)]
    until(lambda: not daemon.place(good, "").exists())
    until(lambda: daemon.place(bad, "work").exists() is (kept == "failed"))

    assert [job.status for job in ended] == ["COMPLETED", "FAILED"]
    # what was not brought to the server is the user's still
    assert daemon.place(bad, "output/made").read_text() == "made\n"
    until(lambda: not [run for run in (daemon.folder / "jobs" / "runs").iterdir() if good in run.name])
