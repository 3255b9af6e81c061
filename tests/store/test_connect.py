"""A url opens one database, or is refused with a sentence."""

from pathlib import Path

import pytest

from cableferry.store import connect
from cableferry.store.failures import BadUrl, StoreFailure, Unavailable
from cableferry.store.migrate import FOLDER


@pytest.mark.parametrize(
    "url", ["", "mysql://user:secret@host/db", "cableferry.db", "sqlite:", "postgresql:/x"], ids=repr
)
def test_an_unknown_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(BadUrl, match="must begin with sqlite:/// ") as refused:
        connect.open_store(url)

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite://file.db", "sqlite:///:memory:"], ids=repr)
def test_a_sqlite_url_names_a_file(url: str) -> None:
    with pytest.raises(BadUrl, match="names a file"):
        connect.open_store(url)


@pytest.mark.parametrize(
    ("url", "path"), [("sqlite:///a/b.db", "a/b.db"), ("sqlite:////a/b.db", "/a/b.db")], ids=["relative", "absolute"]
)
def test_three_slashes_are_relative_and_four_absolute(url: str, path: str) -> None:
    assert connect.path_of(url) == Path(path)


def test_a_file_that_is_not_there_is_not_made_by_opening_it(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cableferry db upgrade"):
        connect.open_store(f"sqlite:///{tmp_path}/cableferry.db")

    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_there_is_made_no_newer(tmp_path: Path) -> None:
    older, url = tmp_path / "older", f"sqlite:///{tmp_path}/cableferry.db"
    older.mkdir()
    first = min(FOLDER.glob("0001_*.sqlite.sql"))
    (older / first.name).write_text(first.read_text())
    (tmp_path / "newer").mkdir()
    for name, text in ((first.name, first.read_text()), ("0002_more.sqlite.sql", "CREATE TABLE more (one INTEGER)")):
        (tmp_path / "newer" / name).write_text(text)
    connect.make_database(url, older)

    connect.make_database(url, tmp_path / "newer")

    assert connect.upgrade_database(url, tmp_path / "newer") == ["0002 more"]


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cableferry.db").write_text("no database" * 1000)

    with pytest.raises(StoreFailure, match="not a database"):
        connect.open_store(f"sqlite:///{tmp_path}/cableferry.db", upgrade=True)


def test_a_postgres_that_does_not_answer_is_refused_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="does not answer") as refused:
        connect.open_store(f"postgresql://me:secret@/db?host={tmp_path}")

    assert "secret" not in str(refused.value)
