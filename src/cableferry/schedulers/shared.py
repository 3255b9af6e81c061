"""Opens what other machines wrote into a shared folder.

A client of NFS remembers for half a minute that a name was not there, until its folder is opened: that asks the server
whether the folder has changed. Asking for the name alone, or whether it exists, does not.
"""

import errno
import os
import stat
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# whoever wrote it may have put anything there: a pipe must not hold us up, a link not lead us astray
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def opened(path: Path) -> int:
    """A descriptor of a regular file, which may have come into being a moment ago."""
    folder = os.open(path.parent, _FOLDER)
    try:
        file = os.open(path.name, _FILE, dir_fd=folder)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return file


def is_there(path: Path) -> bool:
    """Whether there is anything of that name, which may have come into being a moment ago."""
    try:
        folder = os.open(path.parent, _FOLDER)
    except OSError:
        return False
    try:
        os.stat(path.name, dir_fd=folder)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True
