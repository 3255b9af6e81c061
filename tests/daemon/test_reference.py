"""Configurations as daemons of the field have them, and as ours may have them besides."""

from pathlib import Path

import msgspec
import pytest

from cableferry.client.schemes import Shown, Signed, Unsigned
from cableferry.daemon import config, reference
from cableferry.daemon.config import BadConfig, Config, Profile
from cableferry.daemon.staging.buckets import Bucket

# each with the keys of its generation, as an operator wrote them
FIRST = """
emx2:
  base_url: "https://emx2.example.org/"
  worker_id: "hpc-headnode-01"
  shared_secret: "${EMX2_HPC_SECRET}"
  auth_mode: "hmac"  # or "token"
  artifact_residence: posix
worker:
  poll_interval_seconds: 30
  max_concurrent_jobs: 10
slurm:
  default_partition: normal
  default_account: ""
profiles:
  text-embedding:v3/gpu-medium:
    sif_image: /nfs/images/text-embedding_v3.sif
    partition: gpu
    cpus: 8
    memory: 64G
    time: 04:00:00
    extra_args: ["--exclusive"]
apptainer:
  bind_paths:
    - /nfs/data:/data
  tmp_dir: /tmp/emx2-hpc
"""
SECOND = """
emx2:
  base_url: "http://localhost:8080"
  worker_id: "e2e-test-worker"
  shared_secret_file: secret
worker:
  poll_interval_seconds: 20
  max_concurrent_jobs: 4
  queue_report_interval_seconds: 300
  state_db: ""
slurm:
  default_partition: "normal"
profiles:
  "e2e-test:bash":
    entrypoint: "/opt/e2e/scripts/e2e_job.sh"
    partition: "normal"
    cpus: 1
    memory: "256M"
    time: "00:05:00"
    output_residence: "managed"
    log_residence: "posix"
    claim_timeout_seconds: 60
    execution_timeout_seconds: 0
apptainer:
  tmp_dir: "/data/jobs/tmp"
"""
THIRD = """
emx2:
  base_url: "http://localhost:8080"
  worker_id: "hpc-headnode-01"
  worker_secret_file: secret
  auth_mode: "token"
worker:
  heartbeat_interval_seconds: 60
  state_db: /var/lib/hpc/state.db
profiles:
  "scenario:container":
    sif_image: /nfs/a.sif
    container_entrypoint: /app/run.sh
    sbatch_args: ["--gres=gpu:a40:2"]
    submission_timeout_seconds: 120
  "scenario:host":
    host_entrypoint: /opt/run.sh --fast 'two words'
"""
LEAST = "profiles:\n  a:b:\n    entrypoint: /bin/true\n"


def _load(folder: Path, text: str, mode: int = 0o600) -> Config:
    (folder / "secret").write_text("s3cret\n")
    (folder / "secret").chmod(0o600)
    path = folder / "config.yaml"
    path.write_text(text)
    path.chmod(mode)
    return reference.load(path)


def _only(loaded: Config) -> Profile:
    (profile,) = loaded.profiles
    return profile


def test_a_file_of_the_first_generation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMX2_HPC_SECRET", "s3cret")
    loaded = _load(tmp_path, FIRST)
    profile = _only(loaded)

    assert (loaded.server, loaded.jobs_dir) == ("https://emx2.example.org", "/tmp/emx2-hpc")
    assert config.scheme(loaded) == Signed("hpc-headnode-01", "s3cret")
    assert (profile.processor, profile.profile) == ("text-embedding:v3", "gpu-medium")
    assert (profile.resources.partition, profile.resources.time, profile.resources.account) == ("gpu", "04:00:00", None)
    assert (profile.resources.arguments, profile.output_residence) == (("--exclusive",), "posix")
    assert profile.container is not None
    assert profile.container.binds == ("/nfs/data:/data",)


def test_a_file_of_the_second_generation(tmp_path: Path) -> None:
    loaded = _load(tmp_path, SECOND)
    profile = _only(loaded)

    assert config.scheme(loaded) == Signed("e2e-test-worker", "s3cret")
    assert (loaded.poll_seconds, loaded.max_concurrent_jobs) == (20, 4)
    assert (profile.command, profile.submission_seconds) == (("/opt/e2e/scripts/e2e_job.sh",), 60)
    assert (profile.output_residence, profile.log_residence) == ("managed", "posix")


def test_a_limit_of_nought_is_none(tmp_path: Path) -> None:
    text = LEAST + "    submission_timeout_seconds: 0\n    claim_timeout_seconds: 60\n"

    assert _only(_load(tmp_path, text)).submission_seconds == 0


def test_a_file_of_the_third_generation(tmp_path: Path) -> None:
    loaded = _load(tmp_path, THIRD)
    first, second = loaded.profiles

    assert config.scheme(loaded) == Shown("hpc-headnode-01", "s3cret")
    assert (loaded.heartbeat_seconds, loaded.state_dir) == (60, "/var/lib/hpc/state.db.cableferry")
    assert first.container is not None
    assert (first.container.entrypoint, first.resources.arguments) == (("/app/run.sh",), ("--gres=gpu:a40:2",))
    assert second.command == ("/opt/run.sh", "--fast", "two words")


def test_what_is_left_out_is_as_it_was_there(tmp_path: Path) -> None:
    loaded = _load(tmp_path, LEAST)
    resources = _only(loaded).resources

    assert (loaded.server, loaded.worker_id, loaded.poll_seconds) == ("http://localhost:8080", "hpc-daemon-01", 30)
    assert (resources.cpus, resources.memory, resources.time) == (4, "16G", "01:00:00")
    assert config.scheme(loaded) == Unsigned("hpc-daemon-01")


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("a:b", ("a", "b")),
        ("a:v3:b", ("a:v3", "b")),
        ("a:v3/b", ("a:v3", "b")),
        ("org/a:b", ("org/a", "b")),
        ("a/b", ("a", "b")),
    ],
)
def test_a_profiles_name_is_split_at_its_last_separator(tmp_path: Path, key: str, names: tuple[str, str]) -> None:
    profile = _only(_load(tmp_path, f"profiles:\n  '{key}':\n    entrypoint: /bin/true\n"))

    assert (profile.processor, profile.profile) == names


@pytest.mark.parametrize(
    ("said", "is_meant"), [("yes", True), ("On", True), ("true", True), ("no", False), ("OFF", False)]
)
def test_yes_and_no_are_understood_as_yaml_has_them(tmp_path: Path, said: str, is_meant: bool) -> None:
    assert is_meant is _only(_load(tmp_path, LEAST + f"    may_restart: {said}\n")).resources.may_restart


def test_profiles_may_stand_in_their_processor(tmp_path: Path) -> None:
    nested = "profiles:\n  a:v3:\n    small: {entrypoint: /bin/true}\n    large: {entrypoint: /bin/true, cpus: 64}\n"
    found = [(p.processor, p.profile, p.resources.cpus) for p in _load(tmp_path, nested).profiles]

    assert found == [("a:v3", "small", 4), ("a:v3", "large", 64)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("worker:\n  poll_interval_second: 3\n", "for poll_interval_second write poll_interval_seconds"),
        ("profile:\n  a: 1\n", "for profile write profiles"),
        ("profiles:\n  a:b:\n    partitions: x\n", r"profiles\.a:b: .*for partitions write partition"),
        ("profiles:\n  nothing:\n    entrypoint: x\n", "not named processor:profile"),
        ("profiles:\n  a:b:\n    cpus: many\n", r"profiles\.a:b: .*cpus"),
        ("worker:\n  poll_interval_seconds: 0\n", "poll_interval_seconds"),
        ("apptainer:\n  tmp_dir: /a,b\n", "may hold no comma"),
        ("emx2: [1, 2]\n", "emx2 is no section"),
        ("- a\n", "holds no sections"),
        ("a: [", "is no YAML"),
        ("emx2:\n  worker_id: ${NOT_THERE}\n", "NOT_THERE, which is not set"),
        ("emx2:\n  auth_mode: magic\n", "auth_mode"),
        ("profiles:\n  a:b:\n    entrypoint: ./x=y\n", "may hold no equals sign"),
        ("slurm:\n  cluster: a,b\n", "'a,b' is no name of one cluster"),
        ("profiles:\n  a:b:\n    cluster: --all\n", "'--all' is no name of one cluster"),
        ("emx2:\n  base_url: ftp://x.org\n", "begins with https://"),
        ('profiles:\n  a:b:\n    entrypoint: "/bin/sh \'x"\n', "cannot be taken apart: No closing quotation"),
        ("profiles:\n  a:b:\n    retries: {never: 1}\n", r"profiles\.a:b: .*retries"),
        ("emx2:\n  base_url: https://me:secret@x.org\n", "no user and no password"),
        ("metrics:\n  file: ferry.prom\n", "a whole path"),
        ("metrics:\n  prot: 9\n", "for prot write port"),
        ("inputs:\n  http_host: [a]\n", "for http_host write http_hosts"),
        ("inputs:\n  http_hosts: ['https://a/b']\n", r"inputs: .*http_hosts"),
        ("inputs:\n  max_bytes: 5 TB\n", "write 500G, for example"),
        ("inputs:\n  s3: [a]\n", "inputs.s3 names no buckets"),
        ("inputs:\n  s3:\n    b:\n      endpoint: https://s3.x\n      regoin: eu\n", "for regoin write region"),
        ("inputs:\n  s3:\n    b:\n      endpoint: https://s3.x\n      access_key_id: a\n", "come together"),
        ("inputs:\n  s3:\n    b:\n      endpoint: s3.x\n", r"inputs\.s3\.b: .*endpoint"),
    ],
)
def test_a_bad_file_says_what_to_change(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(BadConfig, match=why):
        _load(tmp_path, text)


def test_a_profile_may_name_a_cluster_of_its_own(tmp_path: Path) -> None:
    text = "slurm: {cluster: first}\nprofiles: {a:b: {cluster: second}, a:c: {}}"

    assert ["second", "first"] == [profile.resources.cluster for profile in _load(tmp_path, text).profiles]


def test_nothing_in_a_file_becomes_an_object(tmp_path: Path) -> None:
    with pytest.raises(BadConfig):
        _load(tmp_path, "emx2: !!python/object/apply:os.system ['touch touched']\n")


@pytest.mark.parametrize(
    ("secret", "mode", "warnings"), [("s3cret", 0o644, 1), ("s3cret", 0o600, 0), ("${SECRET}", 0o644, 0)]
)
def test_a_secret_in_a_file_that_others_may_read_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str, mode: int, warnings: int
) -> None:
    monkeypatch.setenv("SECRET", "s3cret")

    bucket = f"    b: {{endpoint: 'https://s3.x', access_key_id: a, secret_access_key: '{secret}'}}\n"

    for text in (f"emx2:\n  worker_secret: {secret}\n", f"inputs:\n  s3:\n{bucket}"):
        assert len(_load(tmp_path, text, mode).warnings) == warnings


def test_inputs_come_from_named_hosts_and_buckets(tmp_path: Path) -> None:
    found = _load(
        tmp_path,
        "inputs:\n  http_hosts: [Data.Example.org, 'files.example.org:8443']\n  private_hosts: ['[fd00::1]:80']\n"
        "  max_bytes: 2T\n  s3:\n    corpora:\n      endpoint: https://s3.example.org\n      access_key_id: AK\n"
        "      secret_access_key_file: secret\n    open-data: {endpoint: 'https://s3.example.org', region: eu-1}\n",
    ).web

    assert found.hosts == {"data.example.org", "files.example.org:8443"}
    assert (found.private_hosts, found.most_bytes) == ({"fd00::1:80"}, 2 * 2**40)
    assert found.buckets == {
        "corpora": Bucket("https://s3.example.org", "us-east-1", "AK", None, str(tmp_path / "secret")),
        "open-data": Bucket("https://s3.example.org", "eu-1"),
    }


def test_neither_a_file_nor_its_sections_show_a_secret(tmp_path: Path) -> None:
    assert "s3cret" not in repr(_load(tmp_path, "emx2:\n  worker_secret: s3cret\n"))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (("a", "large"), "large"),
        (("a", None), "default"),
        (("b", None), "only"),
        (("a", "none"), None),
        (("c", None), None),
    ],
)
def test_a_job_gets_the_profile_that_it_asks_for(
    tmp_path: Path, wanted: tuple[str, str | None], found: str | None
) -> None:
    text = "profiles:\n" + "".join(
        f"  {key}:\n    entrypoint: /bin/true\n" for key in ("a:large", "a:default", "b:only")
    )
    profile = config.profile_for(_load(tmp_path, text), *wanted)

    assert (None if profile is None else profile.profile) == found


def test_a_profile_may_publish_what_its_parameters_look_like(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text('{"required": ["below"]}')

    loaded = _load(tmp_path, "profiles:\n  a:b:\n    entrypoint: ./x\n    parameters_schema_file: schema.json\n")

    assert msgspec.Raw(b'{"required":["below"]}') == loaded.profiles[0].parameters_schema
