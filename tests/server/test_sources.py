"""Where a setting's value comes from, and what becomes of one that cannot be used."""

import re
from pathlib import Path

import pytest

from cableferry.server import described, sources
from cableferry.server.settings import Settings
from cableferry.server.sources import SettingsError


def _file(folder: Path, text: str) -> Path:
    path = folder / "cableferry.toml"
    path.write_text(text)
    return path


def test_without_anything_every_setting_has_its_default() -> None:
    loaded = sources.load(None, {}, {})

    assert (loaded.settings, dict(loaded.sources)) == (Settings(), {})


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    path = _file(tmp_path, "[server]\nhost = '::1'\nport = 1\nbody_limit_bytes = 5\n")
    environment = {"CABLEFERRY_SERVER__HOST": "localhost", "CABLEFERRY_SERVER__PORT": "2"}

    loaded = sources.load(path, environment, {"server.port": 3})

    server = loaded.settings.server
    assert (server.host, server.port, server.body_limit_bytes) == ("localhost", 3, 5)
    assert loaded.sources == {
        "server.host": "CABLEFERRY_SERVER__HOST",
        "server.port": "flag",
        "server.body_limit_bytes": str(path),
    }


def test_a_flag_that_was_not_given_says_nothing() -> None:
    assert sources.load(None, {}, {"server.port": None}).settings.server.port == 8710


def test_the_environment_names_the_file(tmp_path: Path) -> None:
    path = _file(tmp_path, "[emx2]\ncontract = 'latest'\n")

    assert sources.load(None, {"CABLEFERRY_CONFIG": str(path)}, {}).settings.emx2.contract == "latest"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[server]\nprot = 1\n", "did you mean server.port?"),
        ("[sever]\nport = 1\n", "did you mean server.port?"),
        ("[auth.jwt]\nissuers = 'x'\n", "did you mean auth.jwt.issuer?"),
        ("[timeouts.profiles.gpu]\nstarted = 1\n", "profiles.gpu.started in .* did you mean started_seconds?"),
        ("port = 1\n", "unknown setting port"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(tmp_path: Path, text: str, hint: str) -> None:
    with pytest.raises(SettingsError, match=hint.replace("?", r"\?")):
        sources.load(_file(tmp_path, text), {}, {})


def test_an_unknown_variable_is_refused_too() -> None:
    with pytest.raises(SettingsError, match="CABLEFERRY_SERVER__PROT"):
        sources.load(None, {"CABLEFERRY_SERVER__PROT": "1"}, {})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("CABLEFERRY_SERVER_PORT", "CABLEFERRY_SERVER__PORT"),
        ("CABLEFERRY_AUTH_SHARED_SECRET", "CABLEFERRY_AUTH__SHARED_SECRET"),
        ("CABLEFERRY_PORT", "CABLEFERRY_SERVER__PORT"),
    ],
)
def test_a_variable_with_one_underscore_too_few_is_refused(name: str, meant: str) -> None:
    with pytest.raises(SettingsError, match=rf"unknown variable {name}: did you mean {meant}\?"):
        sources.load(None, {name: "9000"}, {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CABLEFERRY_TOKEN", "x"),
        ("CABLEFERRY_WORKER_SECRET", "x"),
        ("PATH", "y"),
        ("CABLEFERRY_SERVICE_HOST", "10.0.0.1"),
        ("CABLEFERRY_SERVICE_PORT_HTTP", "8710"),
        ("CABLEFERRY_SERVER_PORT", "tcp://10.0.0.1:8710"),
        ("CABLEFERRY_PORT_8710_TCP_ADDR", "10.0.0.1"),
    ],
)
def test_variables_that_are_no_settings_are_left_alone(name: str, value: str) -> None:
    assert sources.load(None, {name: value}, {}).settings == Settings()


def test_every_variable_that_the_program_reads_is_known() -> None:
    sources_of_all = "".join(path.read_text() for path in Path(sources.__file__).parents[1].rglob("*.py"))
    read = set(re.findall(r"CABLEFERRY_[A-Z_]*[A-Z]", sources_of_all))

    known = {each.variable for each in described.settings()} | {f"{sources.PREFIX}{name}" for name in sources.OTHERS}
    assert read - known - {"CABLEFERRY_COMPLETE"} == set()


def test_a_wrong_word_is_told_the_right_ones() -> None:
    with pytest.raises(SettingsError, match="it takes seed or latest"):
        sources.load(None, {"CABLEFERRY_EMX2__CONTRACT": "older"}, {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SERVER__PORT", "abc"),
        ("SERVER__PORT", "65536"),
        ("SERVER__PORT", "9" * 5000),
        ("AUTH__OFF", "perhaps"),
        ("EMX2__CONTRACT", "older"),
        ("EMX2__LONG_POLL_SECONDS", "56"),
        ("TIMEOUTS__AFTER_CLAIMED", "explode"),
        ("SERVER__TRUSTED_PROXIES", "[1]"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(name: str, value: str) -> None:
    key = name.lower().replace("__", ".")

    with pytest.raises(SettingsError, match=f"{key} in CABLEFERRY_{name} is wrong"):
        sources.load(None, {f"CABLEFERRY_{name}": value}, {})


def test_lists_in_the_environment_are_json() -> None:
    environment = {"CABLEFERRY_SERVER__TRUSTED_PROXIES": '["10.0.0.1", "10.0.0.2"]'}

    assert sources.load(None, environment, {}).settings.server.trusted_proxies == ["10.0.0.1", "10.0.0.2"]


def test_timeouts_are_set_by_processor_and_profile(tmp_path: Path) -> None:
    text = "[timeouts.processors.'embed:v3']\nclaimed_seconds = 5\n[timeouts.profiles.gpu]\nstarted_seconds = 7\n"

    timeouts = sources.load(_file(tmp_path, text), {}, {}).settings.timeouts

    assert timeouts.processors["embed:v3"].claimed_seconds == 5
    assert timeouts.profiles["gpu"].started_seconds == 7


@pytest.mark.parametrize(
    ("variable", "field"),
    [
        ("MOLGENIS_HPC_SHARED_SECRET", "shared_secret"),
        ("MOLGENIS_HPC_CREDENTIALS_KEY", "credentials_key"),
        ("CABLEFERRY_AUTH__SHARED_SECRET", "shared_secret"),
    ],
)
def test_a_secret_is_read_and_never_shown(variable: str, field: str) -> None:
    secret = "correct horse battery staple 0123456789"

    settings = sources.load(None, {variable: secret}, {}).settings

    assert getattr(settings.auth, field).reveal() == secret
    assert secret not in repr(settings)
    assert secret not in str(settings.auth)


def test_a_secret_stands_in_one_place(tmp_path: Path) -> None:
    path = _file(tmp_path, "[auth]\nshared_secret = 'a'\nshared_secret_file = 'b'\n")

    with pytest.raises(SettingsError, match="keep one"):
        sources.load(path, {}, {})


@pytest.mark.parametrize("content", [b"[server", b"\xff\xfe"])
def test_a_file_that_is_no_toml_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cableferry.toml"
    path.write_bytes(content)

    with pytest.raises(SettingsError, match="is not TOML"):
        sources.load(path, {}, {})


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read"):
        sources.load(tmp_path / "nothing.toml", {}, {})


def test_every_setting_has_a_meaning_that_is_a_sentence() -> None:
    assert [each.key for each in described.settings() if not each.meaning.endswith(".")] == []
