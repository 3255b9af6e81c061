"""Reads secrets from files that nobody else may read."""

import os
import stat
from pathlib import Path


class Unreadable(Exception):
    """A file that cannot be used as it is, with what to change."""


def read(path: Path) -> str:
    """The one line of such a file."""
    try:
        with path.open() as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise Unreadable(f"{path} holds a secret and others may read it: chmod 600 {path}")
            text = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path} cannot be read: {error}") from error
    if not text:
        raise Unreadable(f"{path} is empty")
    return text
