"""What is found in folders of this machine, and that nothing leads out of them."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cableferry.store.elsewhere import Found, Unreachable, posix
from cableferry.store.elsewhere.looking import Elsewhere
from cableferry.store.elsewhere.posix import CHUNK_BYTES, PosixFiles
from cableferry.store.failures import BlobFailure

CONTENT = b"shared" * 500_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "job").mkdir(parents=True)
    (root / "job" / "out put#%20.bin").write_bytes(CONTENT)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "rootless").mkdir()
    (tmp_path / "rootless" / "file").write_text("secret")
    return root


@pytest.fixture
def elsewhere(root: Path) -> Elsewhere:
    return Elsewhere({"file": PosixFiles([root])})


def _reason(answer: Found | Unreachable) -> str:
    assert isinstance(answer, Unreachable), answer
    return answer.reason


def test_a_file_is_measured_and_hashed_when_that_is_asked(elsewhere: Elsewhere, root: Path) -> None:
    location = f"file://{root}/job/out put#%20.bin"

    assert Found(len(CONTENT)) == elsewhere.measure(location)
    assert Found(len(CONTENT), None, hashlib.sha256(CONTENT).hexdigest()) == elsewhere.measure(
        location, hash_up_to=len(CONTENT)
    )


def test_a_range_is_read(elsewhere: Elsewhere, root: Path) -> None:
    location = f"file://{root}/job/out put#%20.bin"

    assert CONTENT[CHUNK_BYTES - 3 : CHUNK_BYTES + 3] == elsewhere.read(location, CHUNK_BYTES - 3, CHUNK_BYTES + 3)
    with pytest.raises(BlobFailure, match="ends at byte"):
        elsewhere.read(location, 0, len(CONTENT) + 1)


def test_a_folder_is_found_without_a_size(elsewhere: Elsewhere, root: Path) -> None:
    assert Found(None, is_folder=True) == elsewhere.measure(f"file://{root}/job", hash_up_to=len(CONTENT))
    assert Found(None, is_folder=True) == elsewhere.measure(f"file://{root}")


def test_what_is_not_there_is_told(elsewhere: Elsewhere, root: Path) -> None:
    assert f"there is no {root}/job/none" == _reason(elsewhere.measure(f"file://{root}/job/none"))
    assert f"there is no {root}/job/none/x" == _reason(elsewhere.measure(f"file://{root}/job/none/x"))


@pytest.mark.parametrize("path", ["/etc/passwd", "{root}less/file", "{root}/../secret", "/", "", "{root}/job/\0"])
def test_what_is_not_below_a_root_is_not_opened(elsewhere: Elsewhere, root: Path, path: str) -> None:
    location = f"file://{path.format(root=root)}"

    assert _reason(elsewhere.measure(location))
    with pytest.raises(BlobFailure):
        elsewhere.read(location, 0, 1)


def _to_a_file(root: Path) -> str:
    (root / "link").symlink_to(root.parent / "secret")
    return "link"


def _to_a_folder(root: Path) -> str:
    (root / "link").symlink_to(root.parent)
    return "link/secret"


def _up(root: Path) -> str:
    (root / "job" / "up").symlink_to("../..")
    return "job/up/secret"


def _through_another(root: Path) -> str:
    (root / "first").symlink_to(root / "second")
    (root / "second").symlink_to("/etc")
    return "first/passwd"


@pytest.mark.parametrize("link", [_to_a_file, _to_a_folder, _up, _through_another])
def test_a_link_out_of_the_roots_is_not_followed(elsewhere: Elsewhere, root: Path, link: Callable[[Path], str]) -> None:
    path = link(root)

    assert "leads out of the folders" in _reason(elsewhere.measure(f"file://{root}/{path}"))


def test_a_link_within_the_roots_is_followed(elsewhere: Elsewhere, root: Path) -> None:
    (root / "latest").symlink_to(root / "job")

    assert Found(len(CONTENT)) == elsewhere.measure(f"file://{root}/latest/out put#%20.bin")


def test_a_root_may_be_a_link_itself(root: Path) -> None:
    (root.parent / "data").symlink_to(root)
    elsewhere = Elsewhere({"file": PosixFiles([root.parent / "data"])})

    assert Found(len(CONTENT)) == elsewhere.measure(f"file://{root.parent}/data/job/out put#%20.bin")


def test_a_link_that_is_swapped_in_after_the_look_is_not_followed(root: Path) -> None:
    """What a race could do between the look and the step, done by hand: the step alone refuses it."""
    (root / "job" / "swapped").symlink_to(root.parent)
    from_root = Path("job", "swapped", "secret")

    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        posix.walked(str(root), from_root.parts)


def test_a_pipe_or_a_device_is_no_file(elsewhere: Elsewhere, root: Path) -> None:
    os.mkfifo(root / "pipe")

    assert "neither a file nor a folder" in _reason(elsewhere.measure(f"file://{root}/pipe"))


def test_a_file_that_changes_while_it_is_read_is_told(root: Path) -> None:
    path = root / "job" / "out put#%20.bin"
    with PosixFiles([root]).opened(f"file://{path}") as opened:
        reading = opened.chunks()
        next(reading)
        path.write_bytes(CONTENT + b"more")

        with pytest.raises(BlobFailure, match="changed while it was read"):
            list(reading)


def test_a_root_that_is_not_there_is_not_looked_into(tmp_path: Path) -> None:
    elsewhere = Elsewhere({"file": PosixFiles([tmp_path / "unmounted"])})

    assert not elsewhere.allows(f"file://{tmp_path}/unmounted/x")


@pytest.mark.parametrize("location", ["file:///x", "ftp://host/x", "x", "", "https://host/x"])
def test_a_location_that_no_source_knows_is_not_allowed(location: str) -> None:
    elsewhere = Elsewhere({})

    assert not elsewhere.allows(location)
    assert "is not where this server may look" in _reason(elsewhere.measure(location))
