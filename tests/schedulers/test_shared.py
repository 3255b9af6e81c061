"""What is opened in a shared folder is a regular file, whatever others put there; over NFS see tests/system."""

import os
from pathlib import Path

import pytest

from cableferry.schedulers import shared


def test_a_file_is_opened_and_nothing_else_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    descriptor = shared.opened(tmp_path / "file")
    try:
        assert b"x" == os.read(descriptor, 9)
    finally:
        os.close(descriptor)
    for name in ("link", "pipe", "none", ".", "none/file"):
        with pytest.raises(OSError, match="Errno"):
            shared.opened(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "is_there"), [("file", True), ("link", True), ("dangling", False), ("none", False), ("none/file", False)]
)
def test_what_is_there_is_there(tmp_path: Path, name: str, is_there: bool) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("nothing")

    assert is_there is shared.is_there(tmp_path / name)
