"""Looks at what other machines wrote into a shared folder.

A client of NFS remembers for half a minute that a name was not there, until its folder is opened: that asks the server
whether the folder has changed. Asking for the name alone, or whether it exists, does not.
"""

import contextlib
import errno
import os
import stat
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# whoever wrote it may have put anything there: a pipe must not hold us up, a link not lead us astray
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def look_anew(folder: Path) -> None:
    """From now on this machine sees what has come into being in there until now."""
    with contextlib.suppress(OSError):
        os.close(os.open(folder, _FOLDER))


def opened(path: Path) -> int:
    """A descriptor of a regular file, which may have come into being a moment ago."""
    look_anew(path.parent)
    return opened_if_known(path)


def opened_if_known(path: Path) -> int:
    """The same without asking a server for what this machine remembers: for many files, each of which can wait."""
    file = os.open(path, _FILE)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return file


def is_there(path: Path) -> bool:
    """Whether there is anything of that name, which may have come into being a moment ago."""
    look_anew(path.parent)
    return path.exists()
