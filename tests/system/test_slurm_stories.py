"""A job's life from a user's request to its end on a real Slurm, and what may come between."""

import contextlib
import json
import os
import signal
import sqlite3

import pytest

from tests.daemon import plain_server
from tests.schedulers.waiting import until
from tests.system import sites
from tests.system.cluster_daemon import ClusterDaemon
from tests.system.sites import Site

pytestmark = pytest.mark.slurm

HOSTILE = "a\t'b' \"c\" $(touch touched) `touch touched` ${HOME} \\ \n * ~ ; & | > é %"
HOLD = (
    'echo $$ >"$HPC_WORK_DIR/runs"; while [ ! -e "$GATE/go" ]; do sleep 0.1; done; echo over >>"$HPC_OUTPUT_DIR/over"'
)


def test_a_job_runs_and_its_whole_story_is_told(daemon: ClusterDaemon) -> None:
    lines = "".join(json.dumps({"phase": f"p{number}"}) + "\n" for number in range(5))
    daemon.offer("good", script=f"printf %s '{lines}' >\"$HPC_OUTPUT_DIR/.hpc_progress.jsonl\"; echo hello; pwd >&2")
    job = daemon.submit("good")
    daemon.start()
    ended = daemon.ended(job)

    told = [(row.to_status, row.phase) for row in daemon.history(job)]
    assert ended.status == "COMPLETED", ended.detail
    assert [phase for _, phase in told if phase] == ["p0", "p1", "p2", "p3", "p4"]
    moves = list(dict.fromkeys(status for status, _ in told))
    assert moves == ["PENDING", "CLAIMED", "SUBMITTED", "STARTED", "COMPLETED"]
    assert (ended.slurm_job_id or "").isdigit()
    assert daemon.files(ended.log_artifact_id)["stdout.log"] == b"hello\n"


def test_output_of_one_job_is_input_of_the_next(daemon: ClusterDaemon) -> None:
    make = 'mkdir "$HPC_OUTPUT_DIR/deep"; printf %s made >"$HPC_OUTPUT_DIR/deep/a b#?%é.txt"'
    use = 'cat "$HPC_INPUT_DIR"/*/deep/* >"$HPC_OUTPUT_DIR/seen"; ls "$HPC_INPUT_DIR" >&2'
    for residence in ("managed", "posix"):
        daemon.offer(f"make-{residence}", script=make, output_residence=residence)
    daemon.offer("use", script=use)
    inside = ["/bin/sh", "-c", use]
    daemon.offer("use-inside", sif_image=daemon.cluster.image, container_entrypoint=inside)
    daemon.start()
    makers = [daemon.submit(f"make-{residence}") for residence in ("managed", "posix")]
    made = [daemon.ended(maker).output_artifact_id for maker in makers]
    ended = [daemon.ended(daemon.submit(user, inputs=[id_])) for id_ in made for user in ("use", "use-inside")]

    assert [job.status for job in ended] == ["COMPLETED"] * 4, [job.detail for job in ended]
    assert [daemon.files(job.output_artifact_id) for job in ended] == [{"seen": b"made"}] * 4
    # what lies on the cluster is used where it lies
    linked = [daemon.place(job.id, f"input/{made[1]}") for job in ended[2:]]
    assert [link.readlink() for link in linked] == [daemon.place(makers[1], "output")] * 2


def test_an_input_that_is_not_what_it_was_is_named(daemon: ClusterDaemon) -> None:
    daemon.offer("make", script='echo made >"$HPC_OUTPUT_DIR/data.txt"', output_residence="posix")
    daemon.offer("use", script="true")
    daemon.start()
    first = daemon.submit("make")
    made = daemon.ended(first).output_artifact_id
    daemon.place(first, "output/data.txt").write_text("changed\n")
    ended = daemon.ended(daemon.submit("use", inputs=[made]))

    assert ended.status == "FAILED"
    assert (ended.detail or "").startswith("input_hash_mismatch")
    assert "data.txt" in (ended.detail or "")


def test_a_log_is_read_while_its_job_runs(daemon: ClusterDaemon) -> None:
    daemon.offer("hold", script=f"echo early; {HOLD}; echo late")
    job = daemon.submit("hold")
    daemon.start()
    daemon.until(job, "STARTED")
    until(lambda: daemon.said(job) == b"early\n")
    (daemon.folder / "go").touch()
    ended = daemon.ended(job)

    assert daemon.files(ended.log_artifact_id)["stdout.log"] == b"early\nlate\n"


@pytest.mark.parametrize("kind", ["host", "container"])
def test_hostile_parameters_arrive_byte_for_byte_and_run_nothing(daemon: ClusterDaemon, kind: str) -> None:
    script = 'printf %s "$WORD" >"$HPC_OUTPUT_DIR/word"; printf %s "$HPC_PARAMETERS" >"$HPC_OUTPUT_DIR/parameters"'
    parameters = {"text": HOSTILE, "environment": {"WORD": HOSTILE}, "args": [HOSTILE]}
    if kind == "host":
        daemon.offer("echo", script=script)
    else:
        inside = ["/bin/sh", "-c", f'{script}; printf %s "$1" >"$HPC_OUTPUT_DIR/arg"; id >/input/x', "sh"]
        daemon.offer("echo", sif_image=daemon.cluster.image, container_entrypoint=inside)
    job = daemon.submit("echo", parameters)
    daemon.start()
    daemon.ended(job)

    output = daemon.place(job, "output")
    assert (output / "word").read_text() == HOSTILE, daemon.place(job, "output/stderr.log").read_text()
    assert json.loads((output / "parameters").read_text()) == parameters
    assert kind == "host" or (output / "arg").read_text() == HOSTILE
    assert list(daemon.folder.rglob("touched")) == []


def test_each_way_to_fail_has_its_own_words(daemon: ClusterDaemon) -> None:
    daemon.offer("three", script="exit 3")
    daemon.offer("killed", script="kill -SEGV $$")
    daemon.offer("hungry", script="head -c 300m /dev/zero | tail", memory="30M")
    daemon.offer("nowhere", script="true", partition="none")
    daemon.offer("slow", script="sleep 600")
    names = ("three", "killed", "hungry", "nowhere")
    jobs = {name: daemon.submit(name) for name in names}
    jobs["slow"] = daemon.submit("slow", timeout=4)
    jobs["wishful"] = daemon.submit("three", {"environment": {"LD_PRELOAD": "/x.so"}})
    daemon.start()
    ended = {name: daemon.ended(job) for name, job in jobs.items()}

    assert {job.status for job in ended.values()} == {"FAILED"}
    words = {
        "three": "exit_code=3",
        "killed": "signal=11",
        "nowhere": "submit-refused",
        "slow": "timeout: job timeout_seconds (4s) exceeded",
        "wishful": "LD_PRELOAD may not be set",
    } | ({"hungry": "out-of-memory"} if daemon.cluster.has_cgroup else {})
    assert [name for name, word in words.items() if word not in (ended[name].detail or "")] == [], ended


@pytest.mark.parametrize("status", ["SUBMITTED", "STARTED"])
@pytest.mark.parametrize("verb", ["cancel", "delete"])
def test_a_job_that_is_taken_away_leaves_slurm_at_once(daemon: ClusterDaemon, status: str, verb: str) -> None:
    daemon.offer("hold", script=HOLD, sbatch_args=["--hold"] if status == "SUBMITTED" else [])
    job = daemon.submit("hold")
    daemon.start()
    slurm_id = daemon.until(job, status).slurm_job_id or ""
    (daemon.client.cancel if verb == "cancel" else daemon.client.delete)(job)

    until(lambda: daemon.slurm("squeue", "-h", "-j", slurm_id, "-t", "all", "-o", "%T").strip() == "CANCELLED")


def test_a_killed_daemon_finds_its_job_again_and_it_ran_once(daemon: ClusterDaemon) -> None:
    daemon.offer("hold", script=f'echo ran >>"$GATE/ran"; {HOLD}')
    job = daemon.submit("hold")
    daemon.start()
    daemon.until(job, "STARTED")
    daemon.stop(signal.SIGKILL)
    (daemon.folder / "go").touch()
    daemon.start()
    ended = daemon.ended(job)

    assert (ended.status, (daemon.folder / "ran").read_text()) == ("COMPLETED", "ran\n")
    moves = [(row.from_status, row.to_status) for row in daemon.history(job)]
    assert moves.count(("CLAIMED", "SUBMITTED")) == 1


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_daemon_killed_around_sbatch_submits_no_second_time(daemon: ClusterDaemon, moment: str) -> None:
    daemon.offer("hold", script=f'echo ran >>"$GATE/ran"; {HOLD}')
    real = "/usr/bin/sbatch"
    programs = daemon.folder / "bin"
    programs.mkdir(mode=0o755)
    acts = {"before": "kill -9 $PPID; sleep 600", "after": f'{real} "$@" >/dev/null; kill -9 $PPID; sleep 600'}
    (programs / "sbatch").write_text(f"#!/bin/sh\necho called >>{daemon.folder}/jobs/called\n{acts[moment]}\n")
    (programs / "sbatch").chmod(0o755)
    job = daemon.submit("hold")
    killed = daemon.start(path=f"{programs}:{os.environ['PATH']}")
    killed.wait(60)
    (daemon.folder / "go").touch()
    if moment == "before":
        # an hour has gone by: nobody can still be about to hear that sbatch
        _age(daemon)
    daemon.start()
    ended = daemon.ended(job)

    assert (ended.status, (daemon.folder / "ran").read_text()) == ("COMPLETED", "ran\n")
    assert (daemon.folder / "jobs" / "called").read_text() == "called\n"
    assert len([name for name in _lines(daemon, "-h", "-t", "all", "-o", "%j") if job in name]) == 1


def _age(daemon: ClusterDaemon) -> None:
    with contextlib.closing(sqlite3.connect(daemon.folder / "state.cableferry" / "journal.db")) as journal:
        journal.execute("update held set body = cast(json_set(cast(body as text), '$.asked_at', 1.0) as blob)")
        journal.commit()


def test_a_controller_that_holds_its_breath_costs_time_and_nothing_else(daemon: ClusterDaemon) -> None:
    daemon.offer("good", script='echo ran >>"$GATE/ran"')
    daemon.start()
    until(lambda: "worker registered" in daemon.log())
    with daemon.breathless():
        job = daemon.submit("good")
        until(lambda: "job held up" in daemon.log())
        claimed = daemon.client.job(job)
    ended = daemon.ended(job)

    assert claimed is not None
    assert (claimed.status, ended.status, (daemon.folder / "ran").read_text()) == ("CLAIMED", "COMPLETED", "ran\n")


def test_a_stopped_daemon_ends_at_once_and_leaves_its_jobs(daemon: ClusterDaemon) -> None:
    daemon.offer("hold", script=HOLD)
    job = daemon.submit("hold")
    daemon.start()
    daemon.until(job, "STARTED")
    took = daemon.stop()
    said = daemon.run("status")
    is_there = daemon.place(job, "work/runs").exists()
    (daemon.folder / "go").touch()
    for _ in range(20):
        assert daemon.run("once").returncode == 0
        if daemon.client.job(job).status == "COMPLETED":  # type: ignore[union-attr] # it is there
            break

    assert (took < 10, is_there, job in said.stdout) == (True, True, True)
    assert daemon.ended(job).status == "COMPLETED"


def test_a_plain_server_is_enough(site: Site, served: str) -> None:
    with plain_server.before(served, site.other_port) as plain, sites.client(served) as client:
        daemon = ClusterDaemon(site.cluster, plain, client, sites.SECRET)
        daemon.offer("good", script="true")
        job = daemon.submit("good")
        daemon.start()
        try:
            assert daemon.ended(job).status == "COMPLETED"
        finally:
            daemon.stop()


def test_a_server_that_goes_away_and_comes_back_loses_nothing(site: Site, served: str) -> None:
    with sites.client(served) as client, contextlib.ExitStack() as stack:
        with plain_server.before(served, site.other_port) as plain:
            daemon = ClusterDaemon(site.cluster, plain, client, sites.SECRET)
            daemon.offer("hold", script=f'echo ran >>"$GATE/ran"; {HOLD}')
            job = daemon.submit("hold")
            daemon.start()
            stack.callback(daemon.stop)
            daemon.until(job, "STARTED")
        (daemon.folder / "go").touch()
        until(lambda: "job ended" in daemon.log() and "server in trouble" in daemon.log())
        stack.enter_context(plain_server.before(served, site.other_port))
        ended = daemon.ended(job)

    assert (ended.status, (daemon.folder / "ran").read_text()) == ("COMPLETED", "ran\n")


def test_a_job_cancelled_while_sbatch_hangs_does_not_stay(daemon: ClusterDaemon) -> None:
    daemon.offer("hold", script=HOLD, sbatch_args=["--hold"])
    daemon.start()
    until(lambda: "worker registered" in daemon.log())
    with daemon.breathless():
        job = daemon.submit("hold")
        until(lambda: "job held up" in daemon.log())
        daemon.client.cancel(job)
        until(lambda: "job to be stopped" in daemon.log())
    names = ("-h", "-u", daemon.cluster.user, "-t", "all", "-o", "%j %T")
    until(lambda: "job submitted" in daemon.log())
    until(lambda: [line.split()[1] for line in _lines(daemon, *names) if job in line] == ["CANCELLED"])


def test_a_living_job_under_our_name_that_nobody_holds_is_ended(daemon: ClusterDaemon) -> None:
    daemon.offer("hold", script=HOLD)
    job = daemon.submit("hold")
    daemon.start()
    ours = daemon.until(job, "STARTED").slurm_job_id or ""
    name = daemon.slurm("squeue", "-h", "-j", ours, "-o", "%j").strip()
    orphan = daemon.as_user("sbatch", "--parsable", f"--job-name={name[:11]}lost-a1", "--hold", "--wrap=true").strip()
    other = daemon.as_user("sbatch", "--parsable", "--job-name=cfother-a1", "--hold", "--wrap=true").strip()
    until(lambda: _lines(daemon, "-h", "-j", orphan, "-t", "all", "-o", "%T") == ["CANCELLED"])
    left = _lines(daemon, "-h", "-j", f"{ours},{other}", "-t", "all", "-o", "%T")
    daemon.as_user("scancel", other)

    assert sorted(left) == ["PENDING", "RUNNING"]


def test_of_two_daemons_with_one_worker_id_one_acts(daemon: ClusterDaemon, served: str) -> None:
    daemon.offer("good", script='echo ran >>"$GATE/ran"')
    daemon.start()
    until(lambda: "worker registered" in daemon.log())
    second = ClusterDaemon(daemon.cluster, served, daemon.client, sites.SECRET)
    second.worker_id = daemon.worker_id
    second.offer("good", script="exit 1")
    second.start()
    try:
        until(lambda: "is in use by" in second.log())
        job = daemon.ended(daemon.submit("good"))
        same_folder = daemon.run("once")
    finally:
        second.stop()

    assert (job.status, (daemon.folder / "ran").read_text()) == ("COMPLETED", "ran\n")
    assert "job claimed" not in second.log()
    assert (same_folder.returncode, "another worker uses" in same_folder.stderr) == (2, True)


def _lines(daemon: ClusterDaemon, *options: str) -> list[str]:
    return daemon.slurm("squeue", *options).splitlines()


def test_a_job_whose_node_is_lost_is_tried_again_where_its_site_wants_that(daemon: ClusterDaemon) -> None:
    once_then_wait = (
        'echo ran >>"$GATE/ran"; [ $(wc -l <"$GATE/ran") = 2 ] || sleep 600; echo >"$HPC_OUTPUT_DIR/result"'
    )
    daemon.offer("fragile", script=once_then_wait, retries={"node-fail": 1})
    job = daemon.submit("fragile")
    daemon.start()
    slurm_id = daemon.until(job, "STARTED").slurm_job_id or ""
    until(lambda: (daemon.folder / "ran").exists())
    node = daemon.slurm("squeue", "-h", "-j", slurm_id, "-o", "%N").strip()
    daemon.cluster.lose(node)
    until(lambda: _lines(daemon, "-h", "-j", slurm_id, "-t", "all", "-o", "%T") == ["NODE_FAIL"])
    daemon.cluster.bring_back(node)
    ended = daemon.ended(job)

    assert (ended.status, ended.slurm_job_id != slurm_id) == ("COMPLETED", True)
    assert (daemon.folder / "ran").read_text() == "ran\nran\n"
    assert "node-fail: tried again, try 2" in [row.detail for row in daemon.history(job)]


def test_a_container_sees_the_graphics_card_that_slurm_chose(daemon: ClusterDaemon) -> None:
    inside = ["/bin/sh", "-c", 'printf %s "$CUDA_VISIBLE_DEVICES" >"$HPC_OUTPUT_DIR/card"']
    daemon.offer("gpu", sif_image=daemon.cluster.image, container_entrypoint=inside, partition="gpu", gres="gpu:h200:1")
    job = daemon.submit("gpu")
    daemon.start()
    ended = daemon.ended(job)

    assert (ended.status, daemon.files(ended.output_artifact_id)) == ("COMPLETED", {"card": b"0"}), ended.detail
