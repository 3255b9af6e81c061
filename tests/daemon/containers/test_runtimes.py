"""The command line of each runtime, and what no server may slip into it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from cableferry.client.opeva import Dispatched, Standing, Volume
from cableferry.daemon.containers import cargo, runtimes
from cableferry.daemon.containers.cargo import Cargo, Stage, Why
from cableferry.daemon.containers.runtimes import NotRunnable, Runtime, Site
from cableferry.schedulers.protocol import Phase, Sighting

JOB = Dispatched(
    "j1",
    "configs/a.yaml",
    image="calof/opeva_simulator:latest",
    command="--config /data/configs/a.yaml --job_id j1",
    container_name="opeva_job_demo_j1",
    volumes=(Volume("/srv/server-side", "/data"),),
    env={"TOKEN": "secret"},
)
ARGUMENTS = ("--config", "/data/configs/a.yaml", "--job_id", "j1")


def site(runtime: Runtime, *entrypoint: str, **more: object) -> Site:
    return replace(Site(runtime, Path("/mnt/shared"), tuple(entrypoint)), **more)


def test_docker_gets_the_shared_folder_of_this_machine_and_no_value_of_a_variable(tmp_path: Path) -> None:
    launch = runtimes.launch(site(Runtime.DOCKER), JOB, tmp_path)

    assert launch.command == (
        *("docker", "run", "--rm", "--name", "opeva_job_demo_j1", "--cidfile", str(tmp_path / "container.id")),
        *("--volume", "/mnt/shared:/data:rw", "--env-file", str(tmp_path / "container.env")),
        *("calof/opeva_simulator:latest", *ARGUMENTS),
    )
    assert ({}, "TOKEN=secret\n") == (launch.environment, launch.variables)


def test_another_entrypoint_stands_before_the_arguments(tmp_path: Path) -> None:
    podman = runtimes.launch(site(Runtime.PODMAN, "python", "-u", "main.py", has_gpus=True), JOB, tmp_path).command

    assert ("--gpus", "all") == podman[7:9]
    assert podman[-9:] == ("--entrypoint", "python", JOB.image, "-u", "main.py", *ARGUMENTS)


def test_apptainer_takes_an_image_of_a_registry_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "image.sif"
    file.touch()
    pulled = runtimes.launch(site(Runtime.APPTAINER), JOB, tmp_path)
    local = runtimes.launch(site(Runtime.APPTAINER, "/bin/sh"), replace(JOB, image=str(file)), tmp_path)

    bound = ("--contain", "--cleanenv", "--bind", "/mnt/shared:/data:rw")
    assert pulled.command == ("apptainer", "run", *bound, f"docker://{JOB.image}", *ARGUMENTS)
    assert local.command == ("apptainer", "exec", *bound, str(file), "/bin/sh", *ARGUMENTS)
    assert {"APPTAINERENV_TOKEN": "secret"} == pulled.environment


def test_a_process_sees_the_shared_folder_where_it_is(tmp_path: Path) -> None:
    launch = runtimes.launch(site(Runtime.PROCESS, "simulate"), JOB, tmp_path)

    assert ("simulate", "--config", "/mnt/shared/configs/a.yaml", "--job_id", "j1") == launch.command
    assert Path("/mnt/shared/configs/a.yaml") == runtimes.config(site(Runtime.PROCESS), JOB)


HOSTILE = {
    "an option for an image": {"image": "--privileged"},
    "no image": {"image": ""},
    "an option for a name": {"container_name": "--privileged"},
    "a folder of ours": {"volumes": (Volume("/etc", "/etc"),)},
    "a folder by a detour": {"volumes": (Volume("/mnt/more/../../etc", "/x"),)},
    "two volumes in one": {"volumes": (Volume("/srv", "/data:rw --privileged"),)},
    "a mode of its own": {"volumes": (Volume("/srv", "/data", "rw,exec"),)},
    "an open quote": {"command": "--config '"},
    "an option for a variable": {"env": {"A=B --privileged": "x"}},
    "two variables in one": {"env": {"A": "x\nLD_PRELOAD=/data/x.so"}},
}


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
def test_what_a_server_may_not_ask_for_is_not_run(tmp_path: Path, said: dict[str, object]) -> None:
    with pytest.raises(NotRunnable):
        runtimes.launch(site(Runtime.DOCKER, mounts=(Path("/mnt/more"),)), replace(JOB, **said), tmp_path)


def test_a_folder_that_the_site_allows_is_mounted(tmp_path: Path) -> None:
    job = replace(JOB, volumes=(Volume(str(tmp_path / "a"), "/a", "ro"),))

    command = runtimes.launch(site(Runtime.DOCKER, mounts=(tmp_path,)), job, tmp_path).command

    assert f"{tmp_path / 'a'}:/a:ro" in command


HELD = Cargo("j1.x", replace(JOB, attempt_number=2), 0.0, Stage.STARTED)
STANDINGS = [
    (Standing("running", "w1", 2), None),
    (Standing("dispatched", "w1"), None),
    (Standing("stop_requested", "w1", 2), Why.STOPPED),
    (Standing("canceled", "w1", 2), Why.CANCELED),
    (Standing("running", "w2", 2), Why.LOST),
    (Standing("running", "w1", 3), Why.LOST),
    (Standing("queued"), Why.LOST),
    (Standing("failed", "w1", 2), Why.LOST),
    (None, Why.LOST),
]


@pytest.mark.parametrize(("standing", "why"), STANDINGS)
def test_what_a_server_says_of_a_job_ends_it_or_not(standing: Standing | None, why: Why | None) -> None:
    assert why is cargo.wanted(HELD, "w1", standing)


ENDINGS = [
    (HELD, Sighting(Phase.ENDED, 0), ("finished", 0)),
    (HELD, Sighting(Phase.ENDED, 3), ("failed", 3)),
    (HELD, Sighting(Phase.ENDED, None, 9), ("failed", 137)),
    (HELD, Sighting(Phase.GONE), ("failed", None)),
    (replace(HELD, why=Why.STOPPED), Sighting(Phase.ENDED, 0), ("finished", 0)),
    (replace(HELD, why=Why.STOPPED, pushed_at=1.0), Sighting(Phase.ENDED, None, 15), ("stopped", 143)),
    (replace(HELD, why=Why.STOPPED, pushed_at=1.0), Sighting(Phase.GONE), ("stopped", 143)),
    (replace(HELD, why=Why.STOPPED, pushed_at=1.0, is_killed=True), Sighting(Phase.GONE), ("stopped", 137)),
    (replace(HELD, why=Why.CANCELED, pushed_at=1.0), Sighting(Phase.ENDED, 0), ("canceled", 0)),
    (replace(HELD, why=Why.LOST, pushed_at=1.0), Sighting(Phase.ENDED, 0), None),
]


@pytest.mark.parametrize(("held", "seen", "said"), ENDINGS)
def test_the_last_word_of_a_job(held: Cargo, seen: Sighting, said: tuple[str, int | None] | None) -> None:
    body = cargo.ending(held, "w1", seen)

    assert said == (None if body is None else (body.status, body.exit_code))
    assert body is None or (body.worker_id, body.attempt_number) == ("w1", 2)
