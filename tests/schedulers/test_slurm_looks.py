"""What Slurm's class makes of its commands' answers, the late, broken and missing ones too."""

import json
import os
from pathlib import Path

import pytest

from cableferry.schedulers.protocol import (
    Accepted,
    Ending,
    Found,
    Order,
    Phase,
    Refused,
    Resources,
    Sighting,
    Ticket,
    Unknown,
    Usage,
)
from cableferry.schedulers.slurm.scheduler import Place, Slurm
from tests.schedulers.recorded import Recorded

A = Ticket("cf-j1-a1", "12")
LIVING = "12|RUNNING|100|101|c1|None|cf-j1-a1\n"
DISABLED = "Slurm accounting storage is disabled\n"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    return Recorded(tmp_path / "bin", monkeypatch)


@pytest.fixture
def slurm(tmp_path: Path) -> Slurm:
    return Slurm(Place(tmp_path / "runs", "cf-", seconds=2))


def _order(folder: Path, resources: Resources = Resources()) -> Order:  # noqa: B008  # a frozen value
    return Order("cf-j1-a1", ("true",), str(folder), str(folder), {"A": "b"}, resources, "cf:j1:1:1")


def _status(folder: Path, **said: object) -> None:
    (folder / "runs" / "cf-j1-a1").mkdir(parents=True, exist_ok=True)
    (folder / "runs" / "cf-j1-a1" / "status.json").write_text(json.dumps({"job": "12", **said}))


def test_one_look_is_one_squeue_and_at_most_one_sacct_whatever_the_number(programs: Recorded, slurm: Slurm) -> None:
    tickets = [Ticket(f"cf-j{number}-a1", str(number)) for number in range(2000)]
    programs.say("squeue", "".join(f"{t.called}|RUNNING|1|1|c1|None|{t.name}\n" for t in tickets[:1000]))
    programs.say("sacct", "".join(f"{t.called}|COMPLETED|0:0|1|1|00:01|1K|c1|None|{t.name}\n" for t in tickets[1000:]))

    seen = slurm.sight(tickets, 5)

    assert (len(programs.calls("squeue")), len(programs.calls("sacct"))) == (1, 1)
    assert (seen.is_ok, len(seen.jobs)) == (True, 2000)


def test_living_jobs_alone_need_no_sacct(programs: Recorded, slurm: Slurm) -> None:
    programs.say("squeue", LIVING)

    assert slurm.sight([A], 5).jobs == {A.name: Sighting(Phase.RUNNING, word="RUNNING", node="c1", submitted_at=100)}
    assert programs.calls("sacct") == []


@pytest.mark.parametrize(
    ("out", "code"), [("", 1), ("slurm_load_jobs error: Unable to contact slurm controller", 1), (LIVING, 3)]
)
def test_a_look_that_failed_decides_nothing(programs: Recorded, slurm: Slurm, out: str, code: int) -> None:
    programs.say("squeue", out, "oh", code)
    seen = slurm.sight([A], 5)

    assert (seen.is_ok, seen.jobs, seen.trouble) == (False, {}, "oh")


def test_a_look_that_takes_too_long_decides_nothing_and_leaves_nothing_running(
    programs: Recorded, tmp_path: Path
) -> None:
    programs.play("squeue", "sleep 60")

    seen = Slurm(Place(tmp_path, "cf-", seconds=0.1)).sight([A], 5)

    assert (seen.is_ok, seen.trouble) == (False, "squeue gave no answer in 0.1 s")


def test_a_puzzling_word_is_passed_on(programs: Recorded, slurm: Slurm) -> None:
    programs.say("squeue", LIVING.replace("RUNNING", "TELEPORTING"))

    seen = slurm.sight([A], 5).jobs[A.name]

    assert (seen.phase, seen.word) == (Phase.PUZZLING, "TELEPORTING")


def test_the_job_of_another_name_under_our_id_is_not_ours(programs: Recorded, slurm: Slurm) -> None:
    programs.say("squeue", LIVING.replace("cf-j1-a1", "cf-j9-a1"))
    programs.say("sacct", "12|COMPLETED|0:0|1|1|00:01||c1|None|another\n")

    seen = slurm.sight([A], 5)

    assert seen.jobs == {A.name: Sighting(Phase.MISSING)}
    assert seen.strangers == ()  # it was asked about by its id, and is left alone


@pytest.mark.parametrize(
    ("submitted", "phase"), [(1700000000, Phase.MISSING), (1795120779, Phase.ENDED), (1795129999, Phase.ENDED)]
)
def test_an_older_job_under_our_name_and_id_is_another(
    programs: Recorded, slurm: Slurm, submitted: int, phase: Phase
) -> None:
    """As sacct says it where a controller that lost its state began to count anew; a requeued one is younger."""
    ours = Ticket("cf-j1-a1", "12", submitted_at=1795120779)
    programs.say("squeue", "")
    programs.say("sacct", f"12|FAILED|1:0|{submitted}|65|00:01.5||f0c1|None|cf-j1-a1\n")

    assert slurm.sight([ours], 5).jobs[ours.name].phase is phase


def test_living_jobs_of_ours_that_nobody_asked_about_are_named(programs: Recorded, slurm: Slurm) -> None:
    programs.say("squeue", LIVING + "13|COMPLETED|1|1|c1|None|cf-j2-a1\n14|PENDING|7|N/A||None|mine\n")

    assert slurm.sight([], 5).strangers == (Ticket("cf-j1-a1", "12", 100),)


@pytest.mark.parametrize(
    ("word", "code", "ending", "told"),
    [
        ("COMPLETED", "0:0", Ending.DONE, (0, None)),
        ("FAILED", "3:0", Ending.FAILED, (3, None)),
        ("FAILED", "0:11", Ending.FAILED, (None, 11)),
        ("FAILED", "117:0", Ending.DUPLICATE, (117, None)),
        ("FAILED", "118:0", Ending.UNUSABLE, (118, None)),
        ("TIMEOUT", "0:0", Ending.TIMEOUT, (0, None)),
        ("OUT_OF_MEMORY", "0:125", Ending.OUT_OF_MEMORY, (None, 125)),
        ("NODE_FAIL", "1:0", Ending.NODE_FAILED, (1, None)),
        ("CANCELLED by 0", "0:0", Ending.CANCELLED, (0, None)),
        ("PREEMPTED", "0:0", Ending.PREEMPTED, (0, None)),
    ],
)
def test_an_end_by_accounting(
    programs: Recorded, slurm: Slurm, word: str, code: str, ending: Ending, told: tuple[int | None, int | None]
) -> None:
    programs.say("squeue", "")
    programs.say("sacct", f"12|{word}|{code}|1|9|00:01.5||c1|Why|cf-j1-a1\n12.batch|X|0:0|1|1|00:01|2M|c1||batch\n")

    seen = slurm.sight([A], 5).jobs[A.name]

    assert (seen.phase, seen.ending, (seen.exit_code, seen.signal)) == (Phase.ENDED, ending, told)
    assert (seen.usage, seen.may_grow) == (Usage(9, 1.5, 2**21), False)


def test_an_end_that_accounting_has_not_heard_of_may_still_grow(programs: Recorded, slurm: Slurm) -> None:
    programs.say("squeue", LIVING.replace("RUNNING", "COMPLETED"))
    programs.say("sacct", "12|RUNNING|0:0|1|9|00:00||c1|None|cf-j1-a1\n")

    seen = slurm.sight([A], 5).jobs[A.name]

    assert (seen.ending, seen.exit_code, seen.may_grow) == (Ending.DONE, 0, True)


def test_a_job_in_neither_is_missing_and_not_lost(programs: Recorded, slurm: Slurm) -> None:
    programs.say("squeue", "")
    programs.say("sacct", "")

    assert slurm.sight([A], 5).jobs == {A.name: Sighting(Phase.MISSING)}


def test_a_job_in_neither_is_not_even_missing_when_accounting_failed(programs: Recorded, slurm: Slurm) -> None:
    programs.say("squeue", "")
    programs.say("sacct", "", "sacct: error: slurm_persist_conn_open_without_init: failed", 1)

    seen = slurm.sight([A], 5)

    assert (seen.is_ok, seen.jobs, bool(seen.trouble)) == (True, {}, True)


def test_a_site_without_accounting_is_asked_once(programs: Recorded, slurm: Slurm, tmp_path: Path) -> None:
    programs.say("squeue", LIVING.replace("RUNNING", "FAILED"))
    programs.say("sacct", "", DISABLED, 1)
    programs.say("scontrol", "JobId=12 JobName=cf-j1-a1 JobState=FAILED Reason=x ExitCode=0:9 NodeList=c1\n")
    first, second = (slurm.sight([A], 5).jobs[A.name] for _ in range(2))
    _status(tmp_path, exit_code=4, seconds=6, cpu="1m1.000s 0m0.500s")
    third = slurm.sight([A], 5).jobs[A.name]

    assert len(programs.calls("sacct")) == 1
    assert [seen.signal for seen in (first, second)] == [9, 9]
    assert third.usage == Usage(6, 61.5)
    assert (third.exit_code, third.signal, third.may_grow) == (4, None, False)


@pytest.mark.parametrize(
    ("status", "ending", "told"),
    [
        ({"exit_code": 0}, Ending.DONE, (0, None)),
        ({"exit_code": 7}, Ending.FAILED, (7, None)),
        ({"exit_code": 137}, Ending.FAILED, (None, 9)),
        ({"exit_code": 117}, Ending.FAILED, (117, None)),
    ],
)
def test_a_job_that_slurm_forgot_is_told_by_its_own_note(
    programs: Recorded,
    slurm: Slurm,
    tmp_path: Path,
    status: dict[str, int],
    ending: Ending,
    told: tuple[int | None, int | None],
) -> None:
    programs.say("squeue", "")
    programs.say("sacct", "", DISABLED, 1)
    _status(tmp_path, **status)

    seen = slurm.sight([A], 5).jobs[A.name]

    assert (seen.phase, seen.ending, (seen.exit_code, seen.signal)) == (Phase.ENDED, ending, told)


@pytest.mark.parametrize("content", ["", "{", '{"job": "99", "exit_code": 0}', "[" * 5000])
def test_a_note_of_another_job_or_of_none_is_no_note(
    programs: Recorded, slurm: Slurm, tmp_path: Path, content: str
) -> None:
    programs.say("squeue", "")
    programs.say("sacct", "")
    _status(tmp_path)
    (tmp_path / "runs" / "cf-j1-a1" / "status.json").write_text(content)

    assert slurm.sight([A], 5).jobs == {A.name: Sighting(Phase.MISSING)}


def test_a_pipe_in_the_place_of_a_note_holds_nobody_up(programs: Recorded, slurm: Slurm, tmp_path: Path) -> None:
    programs.say("squeue", "")
    programs.say("sacct", "")
    (tmp_path / "runs" / "cf-j1-a1").mkdir(parents=True)
    for name in ("status.json", "fence"):
        os.mkfifo(tmp_path / "runs" / "cf-j1-a1" / name)

    assert slurm.sight([A], 5).jobs == {A.name: Sighting(Phase.MISSING)}


def test_work_that_had_ended_well_was_not_cancelled_by_what_came_after(
    programs: Recorded, slurm: Slurm, tmp_path: Path
) -> None:
    programs.say("squeue", "")
    programs.say("sacct", "12|CANCELLED by 0|0:15|1|9|00:01||c1|None|cf-j1-a1\n")
    _status(tmp_path, exit_code=0)

    assert slurm.sight([A], 5).jobs[A.name].ending is Ending.DONE


def test_a_submission_says_all_that_makes_it_ours_and_unique(programs: Recorded, slurm: Slurm, tmp_path: Path) -> None:
    programs.say("sbatch", "12;ferry0\n")

    submission = slurm.submit(_order(tmp_path, Resources(partition="gpu", gpus="2", memory="1G", arguments=("-x",))))

    (call,) = programs.calls("sbatch")
    assert submission == Accepted(Ticket("cf-j1-a1", "12", cluster="ferry0"))
    assert {
        "--parsable",
        "--job-name=cf-j1-a1",
        "--comment=cf:j1:1:1",
        "--dependency=singleton",
        "--no-requeue",
        "--partition=gpu",
        "--gpus=2",
        "--mem=1G",
        "-x",
    } <= set(call.split())


@pytest.mark.parametrize(
    ("out", "err", "code", "kind"),
    [
        ("", "Invalid qos specification", 1, Refused),
        ("", "Socket timed out", 1, Unknown),
        ("Submitted batch job twelve", "", 0, Unknown),
    ],
)
def test_a_submission_has_three_outcomes(
    programs: Recorded, slurm: Slurm, tmp_path: Path, out: str, err: str, code: int, kind: type
) -> None:
    programs.say("sbatch", out, err, code)

    assert isinstance(slurm.submit(_order(tmp_path)), kind)


def test_a_name_is_looked_for_in_both(programs: Recorded, slurm: Slurm) -> None:
    programs.say("squeue", "14|PENDING|7|N/A||None|cf-j1-a1\n")
    programs.say("sacct", "12|FAILED|117:0|5|1|00:01||c1|None|cf-j1-a1\n")

    assert slurm.find("cf-j1-a1", 0) == Found(True, (Ticket("cf-j1-a1", "12", 5), Ticket("cf-j1-a1", "14", 7)))


@pytest.mark.parametrize("program", ["squeue", "sacct"])
def test_a_name_that_could_not_be_looked_for_is_not_absent(programs: Recorded, slurm: Slurm, program: str) -> None:
    programs.say("squeue", "")
    programs.say("sacct", "")
    programs.say(program, "", "oh", 1)

    assert slurm.find("cf-j1-a1", 0) == Found(False, (), "oh")


def test_of_two_under_one_name_the_one_that_passed_the_fence_comes_first(
    programs: Recorded, slurm: Slurm, tmp_path: Path
) -> None:
    programs.say("squeue", "".join(f"{id_}|RUNNING|7|7|c1|None|cf-j1-a1\n" for id_ in (12, 14)))
    programs.say("sacct", "")
    (tmp_path / "runs" / "cf-j1-a1").mkdir(parents=True)
    (tmp_path / "runs" / "cf-j1-a1" / "fence").write_text("14.0")

    assert [ticket.called for ticket in slurm.find("cf-j1-a1", 0).tickets] == ["14", "12"]


def test_slurms_commands_see_neither_our_secrets_nor_other_submissions_settings(
    programs: Recorded, slurm: Slurm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("SBATCH_PARTITION", "CABLEFERRY_WORKER_SECRET", "SLURM_JOB_ID", "SQUEUE_FORMAT"):
        monkeypatch.setenv(name, "x")
    programs.play("sbatch", f"env >{tmp_path}/env; echo 12")

    slurm.submit(_order(tmp_path))

    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert names & {"SBATCH_PARTITION", "CABLEFERRY_WORKER_SECRET", "SLURM_JOB_ID", "SQUEUE_FORMAT"} == set()


def test_accounts_that_do_not_answer_are_left_alone_for_a_while(programs: Recorded, tmp_path: Path) -> None:
    programs.say("squeue", LIVING.replace("RUNNING", "COMPLETED"))
    programs.play("sacct", "sleep 60")
    slurm = Slurm(Place(tmp_path / "runs", "cf-", seconds=1))
    _status(tmp_path, exit_code=0)

    first, second = slurm.sight([A], 5), slurm.sight([A], 5)

    assert [(seen.jobs[A.name].ending, seen.jobs[A.name].may_grow) for seen in (first, second)] == [
        (Ending.DONE, True)
    ] * 2
    assert [seen.trouble for seen in (first, second)] == ["sacct gave no answer in 1 s"] * 2
    assert len(programs.calls("sacct")) == 1
