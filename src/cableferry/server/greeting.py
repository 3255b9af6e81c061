"""How the person who started a new server learns the address at which its first Owner is made."""

import os
import sys
from pathlib import Path

import structlog

log = structlog.get_logger()

NAME = "first-owner"


def greet(place: str, folder: Path) -> None:
    """On a terminal at once, elsewhere in a file: a service's output is a log, and whoever opens this may own it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"nobody owns this server yet; to become its first Owner, open {place}\n")
        sys.stderr.flush()
        return
    path = folder / NAME
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
        file.write(f"{place}\n")
    log.warning("nobody owns this server", read=str(path))
