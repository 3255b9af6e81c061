"""The settings open the store of bytes that they name, and no other place."""

import asyncio
from pathlib import Path

import pytest

from cableferry.server import keeping, sources
from cableferry.server.settings import ArtifactsSection, DatabaseSection, S3Section, Secret, Settings
from cableferry.server.sources import SettingsError
from cableferry.server.vault import CannotStart
from cableferry.store.blobs import Blobs
from cableferry.store.failures import BadUrl
from cableferry.testing import s3


async def _kept(blobs: Blobs) -> str:
    sink = blobs.sink()
    await sink.write(b"kept")
    stored = await sink.finish()
    assert stored.sha256 == (await blobs.measure(stored.place)).sha256
    await blobs.close()
    return stored.place


def test_bytes_are_in_the_data_directory_by_default(tmp_path: Path) -> None:
    settings = Settings(database=DatabaseSection(data_dir=tmp_path))

    place = asyncio.run(_kept(keeping.open_blobs(settings)))

    assert b"kept" == (tmp_path / "blobs" / place).read_bytes()


def test_bytes_are_in_the_folder_that_is_named(tmp_path: Path) -> None:
    settings = Settings(artifacts=ArtifactsSection(store=str(tmp_path / "bytes")))

    place = asyncio.run(_kept(keeping.open_blobs(settings)))

    assert b"kept" == (tmp_path / "bytes" / place).read_bytes()


@pytest.mark.xdist_group("s3")
@pytest.mark.parametrize("is_in_a_file", [False, True], ids=["key in the settings", "key in a file"])
def test_bytes_are_in_the_bucket_that_is_named(s3_server: s3.Server, tmp_path: Path, is_in_a_file: bool) -> None:
    file = tmp_path / "key"
    file.touch(0o600)
    file.write_text(f"{s3_server.secret_access_key}\n")
    section = S3Section(
        endpoint=s3_server.endpoint,
        access_key_id=s3_server.access_key_id,
        secret_access_key=None if is_in_a_file else Secret(s3_server.secret_access_key),
        secret_access_key_file=file if is_in_a_file else None,
    )
    settings = Settings(artifacts=ArtifactsSection(store=s3_server.url("named"), s3=section))

    assert asyncio.run(_kept(keeping.open_blobs(settings)))


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("made-up")
    file.chmod(0o644)
    section = ArtifactsSection(store="s3://bucket", s3=S3Section(secret_access_key_file=file))

    with pytest.raises(CannotStart, match=r"storage key file .* has mode 0644"):
        keeping.open_blobs(Settings(artifacts=section))


def test_a_store_of_another_kind_is_refused() -> None:
    with pytest.raises(BadUrl, match="begins with s3://, gs:// or az://"):
        keeping.open_blobs(Settings(artifacts=ArtifactsSection(store="ftp://host/folder")))


@pytest.mark.parametrize(
    ("url", "azure"),
    [("gs://bucket/prefix", {}), ("az://container/prefix", {"account_name": "a", "account_key": "a2V5"})],
)
def test_other_clouds_are_opened_by_their_settings(url: str, azure: dict[str, str], tmp_path: Path) -> None:
    text = f"[artifacts]\nstore = '{url}'\n[artifacts.azure]\n"
    file = tmp_path / "settings.toml"
    file.write_text(text + "\n".join(f"{name} = '{value}'" for name, value in azure.items()))

    blobs = keeping.open_blobs(sources.load(file, {}, {}).settings)

    assert blobs.path(blobs.new_place()) is None


def test_only_what_the_settings_name_is_looked_at(tmp_path: Path) -> None:
    text = f"""
        [artifacts]
        posix_roots = ["{tmp_path}"]
        web_hosts = ["data.example.org"]
        [artifacts.buckets.lake]
        endpoint = "http://127.0.0.1:1"
        unsigned = true
        """
    file = tmp_path / "settings.toml"
    file.write_text(text)

    elsewhere = keeping.elsewhere(sources.load(file, {}, {}).settings)

    for location, is_allowed in (
        (f"file://{tmp_path}/x", True),
        ("file:///etc/passwd", False),
        ("s3://lake/x", True),
        ("s3://sea/x", False),
        ("https://data.example.org/x", True),
        ("https://example.org/x", False),
    ):
        assert is_allowed == elsewhere.allows(location)
    assert not keeping.elsewhere(Settings()).allows("file:///etc/passwd")


def test_a_bucket_with_an_unknown_setting_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[artifacts.buckets.lake]\nendpont = 'http://127.0.0.1:1'\n")

    with pytest.raises(SettingsError, match="endpont"):
        sources.load(file, {}, {})
