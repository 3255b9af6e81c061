"""From any earlier version to this one, with its data, or not at all."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cableferry.store import check, connect, migrate
from cableferry.store.failures import WrongSchema
from cableferry.testing import stores
from tests.store import rows
from tests.store.versions import SEEDS, Versions

COLUMN = "ALTER TABLE throttles ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey'"


@pytest.fixture
def versions(tmp_path: Path, kind: str) -> Versions:
    """A copy of the shipped migrations, to which a test adds its own."""
    return Versions.shipped(tmp_path / "migrations", kind)


@pytest.fixture
def url(empty_url: str) -> str:
    return empty_url


def test_a_new_database_is_brought_to_the_newest_version(url: str) -> None:
    applied = connect.upgrade_database(url)

    assert applied[0] == "0001 begin"
    assert connect.upgrade_database(url) == []


def test_a_database_with_data_is_upgraded_and_keeps_it(url: str, versions: Versions) -> None:
    with stores.opened(url) as store:
        store.write(lambda tx: rows.add(tx, "a", "b"))
    versions.add("colours", COLUMN)

    applied = connect.upgrade_database(url, versions.folder)

    assert applied == [f"{versions.newest:04} colours"]
    assert versions.rows(url, "SELECT subject, colour FROM throttles ORDER BY 1") == [
        ("a", "grey"),
        ("b", "grey"),
    ]


def test_every_version_with_data_reaches_the_newest(url: str, versions: Versions) -> None:
    """Each migration to come is run here on rows that the version before it has written."""
    assert set(SEEDS) == set(range(1, versions.newest + 1))
    for number in SEEDS:
        connect.upgrade_database(url, versions.up_to(number))
        versions.seed(url, number)

    connect.upgrade_database(url)

    with stores.opened(url) as store:
        assert store.read(lambda tx: tx.one(rows.ONE, ("seed",))) == ("seed", 1)
        assert check.check(store).problems == []


def test_half_a_migration_is_none(url: str, versions: Versions) -> None:
    connect.upgrade_database(url)
    versions.add("broken", COLUMN + "; DROP TABLE nowhere")

    with pytest.raises(WrongSchema, match="broken failed and changed nothing"):
        connect.upgrade_database(url, versions.folder)

    versions.replace("broken", COLUMN)
    assert connect.upgrade_database(url, versions.folder) == [f"{versions.newest:04} broken"]


def test_a_migration_cannot_end_its_own_transaction(url: str, versions: Versions) -> None:
    connect.upgrade_database(url)
    versions.add("sly", "CREATE TABLE sly (a INTEGER); COMMIT")

    with pytest.raises(WrongSchema, match="sly ends the transaction"):
        connect.upgrade_database(url, versions.folder)


def test_a_migration_may_leave_no_row_that_refers_to_nothing(tmp_path: Path) -> None:
    url, versions = stores.sqlite_url(tmp_path), Versions.shipped(tmp_path / "migrations", "sqlite")
    connect.upgrade_database(url)
    versions.seed(url, 1)
    versions.rows(url, "INSERT INTO job_bodies SELECT key, '', '' FROM jobs")
    versions.add("careless", "DELETE FROM jobs")

    with pytest.raises(WrongSchema, match="careless leaves 1 rows"):
        connect.upgrade_database(url, versions.folder)


def test_a_newer_database_is_refused_and_both_versions_are_named(url: str, versions: Versions) -> None:
    versions.add("future", COLUMN)
    connect.upgrade_database(url, versions.folder)

    with pytest.raises(WrongSchema, match=rf"version {versions.newest} \(future\).+ version {versions.newest - 1}"):
        connect.open_store(url)
    with pytest.raises(WrongSchema, match="start the newer program"):
        connect.upgrade_database(url)


def test_an_older_database_is_refused_until_it_is_upgraded(url: str, versions: Versions) -> None:
    connect.upgrade_database(url, versions.none())

    with pytest.raises(WrongSchema, match="cableferry db upgrade"):
        connect.open_store(url)


def test_a_migration_that_was_changed_afterwards_is_refused(url: str, versions: Versions) -> None:
    versions.add("colours", COLUMN)
    connect.upgrade_database(url, versions.folder)
    versions.replace("colours", COLUMN.replace("grey", "blue"))

    with pytest.raises(WrongSchema, match="another build"):
        connect.upgrade_database(url, versions.folder)


def test_two_processes_that_upgrade_at_once_do_it_once(url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        applied = list(pool.map(connect.upgrade_database, [url] * 4))

    # whoever waits for one step may be the one to do the next
    assert sorted(step for steps in applied for step in steps) == [
        f"{m.number:04} {m.name}" for m in migrate.known("sqlite")
    ]


def test_both_databases_have_the_same_migrations() -> None:
    sqlite, postgres = migrate.known("sqlite"), migrate.known("postgres")

    assert [(m.number, m.name) for m in sqlite] == [(m.number, m.name) for m in postgres]


def test_a_gap_in_the_numbers_is_found(tmp_path: Path) -> None:
    (tmp_path / "0002_second.sqlite.sql").write_text(COLUMN)

    with pytest.raises(WrongSchema, match="not numbered"):
        migrate.known("sqlite", tmp_path)


def test_the_checksum_is_of_the_text() -> None:
    step = migrate.Migration(1, "begin", "SELECT 1")

    assert step.checksum == hashlib.sha256(b"SELECT 1").hexdigest()
