"""Secrets on their way in and out: from prompts, pipes and files, never from the command line."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from cableferry.cli.commands import usage


def password(file: str | None, is_piped: bool) -> str:
    """A new password: from a file, from standard input, or asked for twice."""
    if file is not None and is_piped:
        raise usage("--password-file and --password-stdin contradict each other: give one of them")
    if file is not None:
        return _line(Path(file))
    if is_piped:
        return sys.stdin.readline().rstrip("\n")
    if not sys.stdin.isatty():
        raise usage("there is no terminal to ask for a password: give --password-stdin or --password-file")
    answer: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return answer


def _line(path: Path) -> str:
    try:
        return path.read_text().partition("\n")[0]
    except (OSError, UnicodeDecodeError) as error:
        raise usage(f"{path} cannot be read: {error}") from error


@contextmanager
def arriving(path: str | None) -> Iterator[Callable[[str | None], str | None]]:
    """A way to keep a new secret: what it gives back is what may still be shown.

    The file is made before the secret is, so that none is issued in vain, and goes away when none comes.
    """
    if path is None:
        yield lambda secret: secret
        return

    file = create(path)

    def keep(secret: str | None) -> None:
        file.write(f"{secret}\n")
        file.flush()

    try:
        with file:
            yield keep
    finally:
        if not os.path.getsize(path):
            os.unlink(path)


def create(path: str) -> TextIO:
    """A new file that nobody else may read; one that is there is not overwritten."""
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w")
    except OSError as error:
        raise usage(f"{path} cannot be made: {error.strerror}") from error
