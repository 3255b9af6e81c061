"""What a scheduler is given to run for a job, on the host and in a container."""

import json

import pytest

from cableferry.client.answers import Job
from cableferry.daemon import launch
from cableferry.daemon.config import Config, Container, Profile
from cableferry.daemon.held import Held
from cableferry.schedulers.protocol import Order, Resources
from cableferry.wire.emx2.remarks import Requested

IMAGE = Container("/nfs/a.sif", ("/app/run", "--fast"), ("/nfs/data:/data",))


def _order(profile: Profile, parameters: object = None, backend: str = "slurm") -> Order:
    config = Config(worker_id="w1", server="s", state_dir="/s", jobs_dir="/j", profiles=(profile,), backend=backend)  # type: ignore[arg-type] # one of the three
    held = Held(id="j1", name="cf-j1-a1", folder="j1", processor="a", epoch=3, parameters=json.dumps(parameters))
    return launch.order(config, profile, held)


def test_a_program_of_the_host_sees_the_folders_of_its_job() -> None:
    order = _order(Profile(processor="a", command=("/opt/run",), environment={"SITE": "x"}), {"n": 1})

    assert (order.command, order.work_dir, order.output_dir) == (("/opt/run",), "/j/j1/work", "/j/j1/output")
    assert order.environment == {
        "LANG": "C.UTF-8",
        "SITE": "x",
        "EMX2_JOB_ID": "j1",
        "HPC_JOB_ID": "j1",
        "HPC_INPUT_DIR": "/j/j1/input",
        "HPC_OUTPUT_DIR": "/j/j1/output",
        "HPC_WORK_DIR": "/j/j1/work",
        "HPC_PARAMETERS": '{"n": 1}',
    }


def test_a_container_sees_its_own_folders_and_no_shell_reads_what_the_job_says() -> None:
    wished = {"args": ["$(x)", 3, True, 1.5], "environment": {"WORD": "`y`"}}
    order = _order(Profile(processor="a", container=IMAGE, environment={"SITE": "x"}), wished)

    assert order.command[-7:] == ("/nfs/a.sif", "/app/run", "--fast", "$(x)", "3", "true", "1.5")
    assert {"--no-eval", "--cleanenv", "--containall", "--no-home"} <= set(order.command)
    assert [order.command[at + 1] for at, word in enumerate(order.command) if word == "--bind"] == [
        "/j/j1/input:/input:ro",
        "/j/j1/output:/output",
        "/j/j1/work:/work",
        "/nfs/data:/data",
    ]
    inside = {name.removeprefix("APPTAINERENV_") for name in order.environment if name.startswith("APPTAINERENV_")}
    assert {"WORD", "SITE", "HPC_PARAMETERS", "EMX2_JOB_ID"} <= inside
    assert order.environment["APPTAINERENV_HPC_OUTPUT_DIR"] == "/output"
    assert "WORD" not in order.environment


@pytest.mark.parametrize(
    ("resources", "has_gpus"),
    [
        (Resources(), False),
        (Resources(gpus="1"), True),
        (Resources(gres="gpu:h200:2"), True),
        (Resources(arguments=("--gres=gpu:2",)), True),
        (Resources(gres="license:1"), False),
    ],
)
def test_graphics_cards_are_brought_in_only_where_they_are_asked_for(resources: Resources, has_gpus: bool) -> None:
    order = _order(Profile(processor="a", container=IMAGE, resources=resources))

    assert ("--nv" in order.command) is has_gpus


@pytest.mark.parametrize(
    ("profile", "parameters", "why"),
    [
        (Profile(processor="a"), None, "neither an entrypoint nor an image"),
        (Profile(processor="a", container=Container("/a.sif")), {"command": "id"}, "no container_entrypoint"),
        (Profile(processor="a", container=IMAGE), {"args": "x"}, "not a list"),
        (Profile(processor="a", container=IMAGE), {"args": [["x"]]}, "neither text nor a number"),
        (Profile(processor="a", command=("x",)), {"environment": {"LD_PRELOAD": "x"}}, "may not be set"),
        (Profile(processor="a", command=("x",)), {"n": "x" * 140_000}, "no environment holds"),
    ],
)
def test_what_cannot_be_run_says_why(profile: Profile, parameters: object, why: str) -> None:
    with pytest.raises(launch.NotRunnable, match=why):
        _order(profile, parameters)


def test_a_command_of_the_job_runs_only_where_its_site_allows_it() -> None:
    order = _order(Profile(processor="a", container=Container("/a.sif"), takes_commands=True), {"command": "id; ls"})

    assert order.command[-4:] == ("/a.sif", "/bin/sh", "-c", "id; ls")


def test_jobs_of_two_workers_and_of_two_servers_have_names_of_their_own() -> None:
    names = {
        launch.prefix(Config(worker_id=worker, server=server, state_dir="", jobs_dir="", profiles=()))
        for worker in ("w1", "w2")
        for server in ("s1", "s2")
    }

    assert len(names) == 4


@pytest.mark.parametrize(
    ("resources", "given"),
    [
        (Resources(), None),
        (Resources(cpus=8, memory="64G", time="04:00:00", gres="gpu:2"), Requested(8, 2**36, 14400, "gpu:2")),
        (Resources(time="UNLIMITED", partition="gpu"), Requested(partition="gpu")),
    ],
)
def test_what_a_job_is_given_is_known_from_its_profile(resources: Resources, given: Requested | None) -> None:
    profile = Profile(processor="a", resources=resources)
    config = Config(worker_id="w1", server="s", state_dir="/s", jobs_dir="/j", profiles=(profile,))

    assert given == launch.held(config, Job("j1", "CLAIMED", "a"), 1, 100).requested
