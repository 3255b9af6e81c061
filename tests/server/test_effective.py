"""An Owner sees every setting that is in force and where it came from, and no secret."""

from pathlib import Path

import msgspec
import pytest

from cableferry.core.access import Role
from cableferry.engine import tokens, users
from cableferry.server import described, effective, sources
from cableferry.server.app import create_app
from cableferry.server.settings import AuthSection
from cableferry.store.tx import Store
from cableferry.testing import servers, stores
from cableferry.wire.ui.configuration import SettingItem

SECRET = "a-secret-of-at-least-32-characters"


def _told(environment: dict[str, str], file: Path | None = None) -> dict[str, SettingItem]:
    loaded = sources.load(file, environment, {"server.port": 1})
    return {each.key: each for each in effective.effective(loaded.settings, loaded.sources)}


def test_every_setting_is_told_with_its_source(tmp_path: Path) -> None:
    file = tmp_path / "ferry.toml"
    file.write_text(
        "[log]\nformat = 'console'\n[artifacts.buckets.lake]\nendpoint = 'https://x'\nsecret_access_key = 's3cret'\n"
    )

    told = _told({"CABLEFERRY_EMX2__CONTRACT": "latest"}, file)

    assert [each.key for each in described.settings()] == list(told)
    assert ("1", "flag") == (told["server.port"].value, told["server.port"].source)
    assert ('"latest"', "CABLEFERRY_EMX2__CONTRACT") == (told["emx2.contract"].value, told["emx2.contract"].source)
    assert ('"console"', str(file)) == (told["log.format"].value, told["log.format"].source)
    assert ('"127.0.0.1"', "default") == (told["server.host"].value, told["server.host"].source)
    assert "s3cret" not in told["artifacts.buckets"].value
    assert all(each.meaning for each in told.values())


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("CABLEFERRY_AUTH__SHARED_SECRET", SECRET),
        ("MOLGENIS_HPC_SHARED_SECRET", SECRET),
        ("CABLEFERRY_DATABASE__URL", "postgresql://ferry:pa55word@db/ferry"),
        ("CABLEFERRY_DATABASE__URL", "postgresql://db/ferry?user=x&password=pa55word"),
    ],
)
def test_no_secret_is_told(variable: str, text: str) -> None:
    told = _told({variable: text})

    shown = msgspec.json.encode(list(told.values())).decode()
    assert SECRET not in shown
    assert "pa55word" not in shown
    assert [variable] == [each.source for each in told.values() if each.source not in ("default", "flag")]


@pytest.fixture
def token(tmp_path: Path) -> str:
    with stores.opened(servers.settings_in(tmp_path).database_url) as store:
        return _owner(store)


def _owner(store: Store) -> str:
    store.write(lambda tx: users.create(tx, "olga", Role.OWNER, None))
    return store.write(lambda tx: tokens.grant(tx, "olga", tokens.Wanted(Role.OWNER))).text


def test_only_an_owner_may_see_them(tmp_path: Path, token: str) -> None:
    with servers.running(servers.settings_in(tmp_path)) as running:
        seen = running.client({"Authorization": f"Bearer {token}"}).get("/api/ui/settings")
        stranger = running.client().get("/api/ui/settings")

    assert (200, 401) == (seen.status, stranger.status)
    assert len(list(described.settings())) == seen.json["count"]


def test_an_application_shows_nobody_the_way_in_once_it_is_owned(tmp_path: Path, token: str) -> None:
    settings = servers.settings_in(tmp_path)
    with stores.opened(settings.database_url) as store:
        assert create_app(settings, store).welcome is None


def test_a_server_that_asks_nobody_who_they_are_needs_no_owner(tmp_path: Path) -> None:
    settings = servers.settings_in(tmp_path)
    unasked = msgspec.structs.replace(settings, auth=AuthSection(off=True))
    with stores.opened(settings.database_url) as store:
        welcomes = [create_app(each, store).welcome for each in (unasked, settings)]

    assert [True, False] == [each is None for each in welcomes]
