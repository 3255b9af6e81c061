"""A folder that others write too: nothing outside it is touched, and a file is there whole or not at all."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cableferry.store.share import Share


@pytest.fixture
def share(tmp_path: Path) -> Share:
    made = Share(tmp_path / "share")
    made.prepare("jobs")
    return made


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_bytes(b"secret")
    return folder


def test_a_file_is_written_whole_and_read_in_part(share: Share) -> None:
    share.write(("jobs", "j1", "status.json"), b"0123456789")

    assert (b"345", 10) == (share.read(("jobs", "j1", "status.json"), 3, 3), share.size(("jobs", "j1", "status.json")))
    assert ["status.json"] == [each.name for each in share.names(("jobs", "j1"))]
    assert ["j1"] == share.folders(("jobs",))


def test_what_is_not_there_is_none(share: Share) -> None:
    assert (None, None, []) == (share.read(("jobs", "x"), 0, 1), share.size(("a", "b")), share.names(("a", "b")))
    assert [] == share.folders(("nowhere",))
    assert False is share.remove(("jobs", "x"))
    assert False is share.remove(("nowhere", "x"))


def test_folders_are_open_to_workers_whatever_our_umask(share: Share) -> None:
    before = os.umask(0o077)
    try:
        share.make(("jobs", "j1", "logs"))
    finally:
        os.umask(before)

    assert 0o777 == (share.root / "jobs" / "j1" / "logs").stat().st_mode & 0o777


ESCAPES = [("..", "outside", "secret"), ("jobs", "..", "..", "outside", "secret"), ("link", "secret"), ("file",)]
DEEDS: dict[str, Callable[[Share, tuple[str, ...]], object]] = {
    "read": lambda share, place: share.read(place, 0, 100),
    "size": lambda share, place: share.size(place),
    "write": lambda share, place: share.write(place, b"new"),
    "remove": lambda share, place: share.remove(place),
    "names": lambda share, place: share.names(place[:-1]),
}


@pytest.mark.parametrize("place", ESCAPES, ids="/".join)
@pytest.mark.parametrize("deed", DEEDS)
def test_nothing_outside_is_touched(share: Share, outside: Path, place: tuple[str, ...], deed: str) -> None:
    (share.root / "link").symlink_to(outside)
    (share.root / "file").symlink_to(outside / "secret")
    seen: object = None
    with contextlib.suppress(OSError):
        seen = DEEDS[deed](share, place)

    assert b"secret" != seen

    assert [b"secret"] == [path.read_bytes() for path in outside.iterdir()]


def test_a_write_that_breaks_off_leaves_the_old_file_and_no_other(share: Share) -> None:
    share.write(("a",), b"old")
    (share.root / "b").mkdir()
    (share.root / "b" / "x").touch()

    with pytest.raises(OSError, match="directory"):
        share.write(("b",), b"new")

    assert {"a", "b", "jobs"} == {path.name for path in share.root.iterdir()}
    assert b"old" == share.read(("a",), 0, 10)


def test_a_folder_is_removed_without_following_what_is_in_it(share: Share, outside: Path) -> None:
    share.write(("jobs", "j1", "x"), b"1")
    (share.root / "jobs" / "j1" / "out").symlink_to(outside)

    assert True is share.remove(("jobs", "j1"))
    assert [b"secret"] == [path.read_bytes() for path in outside.iterdir()]


def test_without_its_root_there_is_no_share(share: Share) -> None:
    share.root.rename(share.root.with_name("moved"))

    for deed in DEEDS.values():
        with pytest.raises(OSError, match="not there"):
            deed(share, ("jobs", "j1"))


def test_one_at_a_time_writes_what_is_ours(share: Share) -> None:
    with share.locked() as first, share.locked() as second:
        assert (True, False) == (first, second)
    with share.locked() as again:
        assert again
