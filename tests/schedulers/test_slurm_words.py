"""Slurm's own words, as versions 22.05 to 26.05 print them, and what we make of each."""

import pytest

from cableferry.schedulers.protocol import Ending, Phase, Refused, Unknown, Usage
from cableferry.schedulers.slurm import refusals, rows, states
from cableferry.schedulers.slurm.commands import Ran
from cableferry.schedulers.slurm.rows import Row

# every state of `man squeue`, of the oldest and of the newest version that we know
STATES = [
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "COMPLETING",
    "CONFIGURING",
    "DEADLINE",
    "EXPEDITING",
    "FAILED",
    "LAUNCH_FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PENDING",
    "POWER_UP_NODE",
    "PREEMPTED",
    "RECONFIG_FAIL",
    "REQUEUED",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "RESIZING",
    "RESV_DEL_HOLD",
    "REVOKED",
    "RUNNING",
    "SIGNALING",
    "SPECIAL_EXIT",
    "STAGE_OUT",
    "STOPPED",
    "SUSPENDED",
    "TIMEOUT",
    "UPDATE_DB",
]


@pytest.mark.parametrize("word", STATES)
def test_every_state_has_a_phase_and_an_ended_one_an_ending(word: str) -> None:
    assert states.phase(word) is not Phase.PUZZLING
    assert (states.phase(word) is Phase.ENDED) == (states.ending(word) is not None)


def test_a_state_of_a_version_to_come_is_puzzling_and_no_end() -> None:
    assert (states.phase("TELEPORTING"), states.ending("TELEPORTING")) == (Phase.PUZZLING, None)


@pytest.mark.parametrize("text", ["CANCELLED by 1000", "CANCELLED+", "CANCELLED"])
def test_a_state_with_a_remark_is_the_state(text: str) -> None:
    assert states.word(text) == "CANCELLED"


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (
            "12|PENDING|1795120779|1795124000||Resources|cf-j1-a1",
            Row("12", "PENDING", "cf-j1-a1", 1795120779, 1795124000, None, "Resources"),
        ),
        (
            "13|RUNNING|1795120779|1795120780|f0c[1-2]|None|cf-j2-a1",
            Row("13", "RUNNING", "cf-j2-a1", 1795120779, 1795120780, "f0c[1-2]"),
        ),
        (
            "14|PENDING|1795120779|N/A||(null)|a | name|with bars",
            Row("14", "PENDING", "a | name|with bars", 1795120779),
        ),
    ],
    ids=["waiting", "running", "a neighbour's name"],
)
def test_a_line_of_squeue(line: str, row: Row) -> None:
    assert rows.squeue(line + "\n") == [row]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "CLUSTER: ferry0\n",
        "slurm_load_jobs error: Socket timed out\n",
        "|||||||\n",
        "12|RUNNING\n",
        "\udcff|",
    ],
)
def test_what_is_no_line_of_squeue_is_no_job(text: str) -> None:
    assert rows.squeue(text) == []


def test_a_job_of_sacct_has_the_memory_of_its_hungriest_step() -> None:
    text = (
        "1|COMPLETED|0:0|1795120779|65|1-02:03:04.500||f0c1|None|cf-j1-a1\n"
        "1.batch|COMPLETED|0:0|1795120779|65|00:00.002|3360K|f0c1||batch\n"
        "1.0|COMPLETED|0:0|1795120779|65|00:00.002|1.5M|f0c1||srun\n"
        "2|CANCELLED by 1001|0:15|1795120779|0|00:00:00||None assigned|None|cf-j2-a1\n"
    )

    first, second = rows.sacct(text)

    assert first.usage == Usage(65, 93784.5, 3360 * 1024)
    assert (second.word, second.signal, second.node) == ("CANCELLED", 15, None)


def test_a_job_of_scontrol() -> None:
    text = (
        "JobId=7 JobName=cf-j1-a1 UserId=u(1) JobState=FAILED Reason=NonZeroExitCode Dependency=(null) ExitCode=3:0 "
        "SubmitTime=1795120779 NodeList=f0c1 Command=(null)\n"
    )

    assert rows.scontrol(text) == Row(
        "7", "FAILED", "cf-j1-a1", 1795120779, None, "f0c1", "NonZeroExitCode", exit_code=3
    )
    assert rows.scontrol("slurm_load_jobs error: Invalid job id specified") is None


@pytest.mark.parametrize(
    ("said", "judged"),
    [
        ("sbatch: error: Batch job submission failed: Invalid partition name specified", False),
        (
            "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
            False,
        ),
        ("sbatch: error: Batch job submission failed: Requested node configuration is not available", False),
        ("sbatch: error: Memory specification can not be satisfied", False),
        ("sbatch: error: Batch job submission failed: Invalid qos specification", False),
        ("sbatch: error: Batch job submission failed: Invalid feature specification", False),
        ("sbatch: unrecognized option '--bogus'", False),
        (
            "sbatch: error: AssocMaxSubmitJobLimit sbatch: error: Batch job submission failed: "
            "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
            True,
        ),
        ("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying", True),
        ("sbatch: fatal: Unable to process configuration file", True),
    ],
)
def test_a_known_no_says_whether_it_may_pass(said: str, judged: bool) -> None:
    assert refusals.judged(Ran(1, "", said)) == Refused(said, judged)


@pytest.mark.parametrize(
    "ran",
    [
        Ran(1, "", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"),
        Ran(1, "", "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)"),
        Ran(1, "", "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received"),
        Ran(1, "", "sbatch: error: a sentence of a version to come"),
        Ran(137, "", ""),
        Ran(None, "", "sbatch gave no answer in 30 s"),
        Ran(None, "", "sbatch: error: Invalid partition and then silence"),
    ],
    ids=["timed out", "no controller", "no bytes", "new words", "killed", "silent", "cut off"],
)
def test_any_other_failure_leaves_it_open_whether_there_is_a_job(ran: Ran) -> None:
    assert isinstance(refusals.judged(ran), Unknown)


def test_a_missing_sbatch_has_submitted_nothing() -> None:
    ran = Ran(None, "", "sbatch cannot be run: No such file or directory")

    assert refusals.judged(ran) == Refused(ran.err, may_pass=True)


def test_every_word_is_known_once() -> None:
    assert states.WORDS >= set(STATES)
    assert {states.ending(word) for word in STATES} >= {Ending.TIMEOUT, Ending.OUT_OF_MEMORY, Ending.NODE_FAILED}
