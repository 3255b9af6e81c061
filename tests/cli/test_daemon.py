"""The daemon's commands, under both their names, with a scheduler that runs nothing."""

import ctypes
import hashlib
import json
import platform
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cableferry.client.artifacts import Description
from cableferry.client.emx2 import Emx2
from cableferry.client.http import Content
from cableferry.server.settings import AuthSection, Secret
from cableferry.testing import servers
from cableferry.wire.emx2.artifacts import CreateArtifactBody
from cableferry.wire.emx2.bodies import CreateBody
from tests.cli import ferry as program
from tests.cli.ferry import Ended, ferry
from tests.schedulers.waiting import until

TGKILL = {"x86_64": 234, "aarch64": 131}[platform.machine()]
ALIAS = (sys.executable, "-c", "from cableferry.cli.main import emx2_daemon; emx2_daemon()")


class Site:
    """A folder with a configuration of the field, and a client of its server."""

    def __init__(self, folder: Path, server: str, client: Emx2) -> None:
        self.folder = folder
        self.client = client
        self.file = folder / "config.yaml"
        self.file.write_text(
            f"emx2:\n  base_url: {server}\n  worker_id: demo-worker-01\n"
            f"worker:\n  state_db: {folder}/state.db\n"
            'profiles:\n  "test:test":\n    sif_image: "/dev/null"\n    cpus: 1\n'
            f"apptainer:\n  tmp_dir: {folder}/jobs\n"
        )

    def alias(self, *arguments: str, **variables: str) -> Ended:
        own = {**program.environment(self.folder), **variables}
        done = subprocess.run([*ALIAS, *arguments], capture_output=True, text=True, env=own, check=False)
        return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with program.serving(tmp_path / "data", is_open=True) as server, program.client(server) as client:
        yield Site(tmp_path, server, client)


@pytest.mark.parametrize("flag", [("--simulate",), ("--backend", "simulate")])
def test_a_simulated_job_walks_through_its_life_in_three_cycles(site: Site, flag: tuple[str, ...]) -> None:
    job = site.client.create(CreateBody("test", "test", parameters=msgspec.Raw(b'{"n": 1}'))).id
    codes = [site.alias("-c", str(site.file), "once", *flag).code for _ in range(3)]

    assert codes == [0, 0, 0]
    assert [row.to_status for row in site.client.transitions(job)] == [
        "PENDING",
        "CLAIMED",
        "SUBMITTED",
        "STARTED",
        "COMPLETED",
    ]
    assert not (site.folder / "jobs").exists()


def test_the_alias_takes_its_options_before_and_behind_the_command(site: Site) -> None:
    before = site.alias("-c", str(site.file), "-v", "--json-logs", "once", "--simulate")
    behind = site.alias("once", "-c", str(site.file), "-v", "--json-logs", "--simulate")

    assert (before.code, behind.code) == (0, 0)
    assert [{json.loads(line)["event"] for line in ended.err.splitlines()} for ended in (before, behind)] == [
        {"worker registered", "worker stopped"},
        {"worker registered", "worker stopped"},
    ]


def test_registering_makes_the_worker_known(site: Site) -> None:
    ended = ferry(site.folder, "daemon", "register", "-c", str(site.file), "--json")

    worker = site.client.worker("demo-worker-01")
    assert (ended.code, json.loads(ended.out)["offers"]) == (0, ["test:test"])
    assert [(offer.processor, offer.profile, offer.max_concurrent_jobs) for offer in worker.capabilities] == [
        ("test", "test", 10)
    ]


def test_a_check_says_what_to_do(site: Site) -> None:
    good = ferry(site.folder, "daemon", "check", "-c", str(site.file), "--simulate")
    site.file.write_text(site.file.read_text() + "metrics: {file: /nowhere/ferry.prom}\n")
    bad = ferry(site.folder, "daemon", "check", "-c", str(site.file), "--backend", "local", "--json")

    assert (good.code, "answers and knows us" in good.out) == (0, True)
    failed = [row for row in json.loads(bad.out)["items"] if not row["is_ok"]]
    assert (bad.code, [(row["what"], row["advice"]) for row in failed]) == (
        1,
        [
            ("metrics", "let the daemon's user write into its folder"),
            ("profile test:test", "set container_entrypoint"),
        ],
    )


def test_a_signal_that_another_thread_gets_ends_it_too(site: Site) -> None:
    """As the system may choose, when several threads could take it."""
    with (site.folder / "log").open("w") as log:
        daemon = subprocess.Popen(
            [*ALIAS, "-c", str(site.file), "run", "--simulate"], stderr=log, env=program.environment(site.folder)
        )
        until(lambda: "worker registered" in (site.folder / "log").read_text())
        threads = [int(task.name) for task in Path(f"/proc/{daemon.pid}/task").iterdir()]
        ctypes.CDLL(None).syscall(TGKILL, daemon.pid, max(threads), signal.SIGTERM)

        assert daemon.wait(30) == 0


def test_a_log_that_cannot_be_written_ends_nothing(site: Site) -> None:
    """As on a full disk."""
    job = site.client.create(CreateBody("test", "test")).id
    with open("/dev/full", "w") as full:
        command = [*ALIAS, "-c", str(site.file), "once", "--simulate"]
        done = subprocess.run(command, stderr=full, env=program.environment(site.folder), check=False, timeout=60)

    found = site.client.job(job)
    assert found is not None
    assert (done.returncode, found.status) == (0, "STARTED")


def test_exit_codes_tell_the_truth(site: Site) -> None:
    away = site.folder / "away.yaml"
    away.write_text(site.file.read_text().replace("http://127.0.0.1:", "http://127.0.0.1:1"))
    wrong = site.folder / "wrong.yaml"
    wrong.write_text("worker:\n  poll_interval: 3\n")
    said = [
        ferry(site.folder, "daemon", *command).code
        for command in (
            ("once", "-c", str(away), "--simulate"),
            ("register", "-c", str(away)),
            ("once", "-c", str(wrong)),
            ("once", "-c", "none.yaml"),
            ("status", "-c", str(away).replace("away", "config")),
        )
    ]

    assert said == [7, 7, 2, 2, 0]


def test_a_service_manager_is_told_that_it_is_ready_lives_and_ends(site: Site) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind(str(site.folder / "notify"))
        line.settimeout(60)
        environment = {**program.environment(site.folder), "NOTIFY_SOCKET": str(site.folder / "notify")}
        command = [*ALIAS, "run", "-c", str(site.file), "--simulate"]
        with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as daemon:
            said = [line.recv(100), line.recv(100), line.recv(100)]
            daemon.terminate()
            while said[-1] != b"STOPPING=1":
                said.append(line.recv(100))
            code = daemon.wait(60)

    assert (said[:3], set(said[3:-1]), code) == ([b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"], {b"WATCHDOG=1"}, 0)


def test_status_and_doctor_tell_what_is_held_and_no_secret(site: Site) -> None:
    site.file.write_text(site.file.read_text().replace("worker_id:", "shared_secret: s3cret-s3cret\n  worker_id:"))
    nothing = ferry(site.folder, "daemon", "status", "-c", str(site.file))
    job = site.client.create(CreateBody("test", "test")).id
    ferry(site.folder, "daemon", "once", "-c", str(site.file), "--simulate")
    status = ferry(site.folder, "daemon", "status", "-c", str(site.file))
    doctor = ferry(site.folder, "daemon", "doctor", "-c", str(site.file), "--json")

    assert (nothing.code, status.code, job in status.out) == (3, 0, True)
    assert [held["id"] for held in json.loads(doctor.out)["standing"]["jobs"]] == [job]
    assert "s3cret" not in doctor.out + status.out


def test_a_bundle_for_support_holds_no_secret_wherever_it_was_written(site: Site) -> None:
    """Each of them is spelled so that it is found again; what is no secret is still there."""
    site.file.write_text(
        site.file.read_text()
        .replace("worker_id:", "worker_secret: s3cret-worker\n  worker_id:")
        .replace("worker:\n", "worker:\n  redact: ['s3cret-pattern', 'at (?P<secret>[a-z-]+)']\n")
        .replace(
            "    cpus: 1\n",
            "    cpus: 1\n    environment: {TOKEN: s3cret-profile}\n"
            "    sbatch_args: ['--export=A=s3cret-export', '--api-token', 's3cret-word', '--x-password=s3cret-flag']\n",
        )
        + "inputs:\n  s3:\n    corpora:\n      endpoint: https://s3.example.org\n      access_key_id: AK1\n"
        "      secret_access_key: s3cret-bucket\n"
    )
    parameters = msgspec.Raw(b'{"password": "s3cret-parameter"}')
    site.client.create(CreateBody("test", "test", parameters=parameters))
    environment = {"CABLEFERRY_WORKER_SECRET": "s3cret-environment", "HTTPS_PROXY": "http://me:s3cret-proxy@p:3128"}
    said = [
        site.alias("-c", str(site.file), command, *more, **environment)
        for command, more in (("once", ["--simulate"]), ("doctor", ["--json"]), ("doctor", []), ("status", []))
    ]

    assert [0, 0] == [said[0].code, said[1].code], said[1].err
    assert "s3cret" not in "".join(each.out + each.err for each in said)
    told = json.loads(said[1].out)
    bucket = told["config"]["web"]["buckets"]["corpora"]
    assert (bucket["access_key_id"], bucket["secret_access_key"]) == ("AK1", "***")
    assert told["config"]["profiles"][0]["environment"] == {"TOKEN": "***"}
    assert (told["environment"]["HTTPS_PROXY"], told["reports_waiting"]) == ("http://***@p:3128", 0)
    assert {"journal.db", "status.json"} <= {file["name"] for file in told["files"]}


def test_a_secret_that_the_server_does_not_know_is_told_apart_from_silence(tmp_path: Path) -> None:
    settings = servers.settings_in(tmp_path / "data")
    settings = msgspec.structs.replace(settings, auth=AuthSection(shared_secret=Secret("x" * 40)))
    with servers.running(settings) as running:
        file = tmp_path / "config.yaml"
        file.write_text(
            f"emx2: {{base_url: '{running.address}', worker_id: w1, worker_secret: wrong}}\n"
            f"worker: {{state_db: {tmp_path}/state}}\nprofiles: {{'a:b': {{entrypoint: /bin/true}}}}\n"
        )
        commands = (("register",), ("once", "--simulate"))
        said = [ferry(tmp_path, "daemon", *command, "-c", str(file)) for command in commands]

    assert [6, 6] == [each.code for each in said]
    assert "cableferry credentials issue" in said[0].err


def test_the_shell_runs_a_program_of_the_host_with_inputs_and_brings_its_results_home(site: Site) -> None:
    script = site.folder / "upper.sh"
    script.write_text('#!/bin/sh\necho working\ntr a-z A-Z <"$HPC_INPUT_DIR"/text/a.txt >"$HPC_OUTPUT_DIR/b.txt"\n')
    script.chmod(0o755)
    site.file.write_text(site.file.read_text().replace('sif_image: "/dev/null"', f"entrypoint: {script}"))
    made = site.client.artifacts.create(CreateArtifactBody(type="blob")).id
    body = Content(lambda: iter([b"hello"]), 5, hashlib.sha256(b"hello").hexdigest())
    site.client.artifacts.put(made, Description("a.txt"), body)
    site.client.artifacts.commit(made)
    job = site.client.create(CreateBody("test", "test", inputs=msgspec.Raw(f'{{"text": "{made}"}}'.encode()))).id

    def is_over() -> bool:
        ended = site.alias("-c", str(site.file), "once", "--backend", "shell")
        assert ended.code == 0, ended.err
        found = site.client.job(job)
        return found is not None and found.is_final

    until(is_over)
    ended = site.client.job(job)
    assert ended is not None
    assert ended.status == "COMPLETED", ended.detail
    assert _files(site, ended.output_artifact_id) == {"b.txt": b"HELLO"}
    assert _files(site, ended.log_artifact_id)["stdout.log"] == b"working\n"
    assert not (site.folder / "jobs" / job).exists()


def _files(site: Site, artifact: str | None) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for file in site.client.artifacts.files(artifact or ""):
        with site.client.artifacts.reading(artifact or "", file.path) as streaming:
            found[file.path] = streaming.whole().body
    return found
