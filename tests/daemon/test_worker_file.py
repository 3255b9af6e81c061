"""A local worker's settings and secrets."""

from pathlib import Path

import msgspec
import pytest

from cableferry.client.schemes import Bearer, Signed, Unsigned
from cableferry.daemon import config, worker_file

TEXT = 'worker_id = "w1"\nserver = "http://127.0.0.1:1"\nwork_dir = "jobs"\n[processors.echo]\ncommand = ["true"]\n'


def _file(folder: Path, text: str = TEXT) -> Path:
    path = folder / "worker.toml"
    path.write_text(text)
    return path


def _secret(folder: Path, mode: int = 0o600) -> None:
    (folder / "secret").write_text("s3cret\n")
    (folder / "secret").chmod(mode)


def test_relative_paths_begin_beside_the_file(tmp_path: Path) -> None:
    assert worker_file.load(_file(tmp_path)).jobs_dir == str(tmp_path / "jobs")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("worker_ids = 1\n" + TEXT, "for worker_ids write worker_id"),
        (TEXT.replace('["true"]', "[]"), "length >= 1"),
        (TEXT.replace('["true"]', '"true"'), "Expected `array`"),
        ("[", "no TOML"),
        (TEXT.replace("w1", "w 1"), "worker_id"),
    ],
)
def test_a_bad_file_says_what_to_change(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(config.BadConfig, match=why):
        worker_file.load(_file(tmp_path, text))


def test_a_processor_may_publish_what_its_parameters_look_like(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text('{"type": "object"}')

    loaded = worker_file.load(_file(tmp_path, TEXT + 'parameters_schema_file = "schema.json"\n'))

    assert msgspec.Raw(b'{"type":"object"}') == loaded.profiles[0].parameters_schema


@pytest.mark.parametrize(
    ("text", "why"),
    [(None, "cannot be read"), ("{", "no JSON"), ("[]", "JSON schema"), ('"' + "x" * 40_000 + '"', "at most")],
)
def test_a_bad_schema_says_what_to_change(tmp_path: Path, text: str | None, why: str) -> None:
    if text is not None:
        (tmp_path / "schema.json").write_text(text)

    with pytest.raises(config.BadConfig, match=why):
        worker_file.load(_file(tmp_path, TEXT + 'parameters_schema_file = "schema.json"\n'))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(config.BadConfig, match=r"none\.toml cannot be read"):
        worker_file.load(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("line", "scheme"),
    [
        ('secret_file = "secret"\n', Signed("w1", "s3cret")),
        ('token_file = "secret"\n', Bearer("s3cret", "w1")),
        ("", Unsigned("w1")),
    ],
)
def test_the_file_says_how_the_worker_proves_itself(tmp_path: Path, line: str, scheme: object) -> None:
    _secret(tmp_path)

    assert config.scheme(worker_file.load(_file(tmp_path, line + TEXT))) == scheme


def test_the_environments_secret_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(config.SECRET_VARIABLE, "other")

    assert config.scheme(worker_file.load(_file(tmp_path, 'secret_file = "none"\n' + TEXT))) == Signed("w1", "other")


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_secret_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    _secret(tmp_path, mode)

    with pytest.raises(config.BadConfig, match="chmod 600"):
        config.read_secret(tmp_path / "secret")
