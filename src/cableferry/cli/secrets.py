"""Secrets on their way in and out: from prompts, pipes and files, never from the command line."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click
import msgspec

from cableferry.cli.commands import usage

if TYPE_CHECKING:
    from cableferry.client.answers import Credential


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
        return path.read_text().rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise usage(f"{path} cannot be read: {error}") from error


@contextmanager
def written(path: str | None) -> Iterator[Callable[["Credential"], "Credential"]]:
    """A way to put a secret into a new file; the file is made first, so that no secret is issued in vain."""
    if path is None:
        yield lambda credential: credential
        return
    file = create(path)

    def write(credential: "Credential") -> "Credential":
        file.write(f"{credential.secret}\n")
        return msgspec.structs.replace(credential, secret=None)

    try:
        with file:
            yield write
    except BaseException:
        os.unlink(path)
        raise


def create(path: str) -> TextIO:
    """A new file that nobody else may read; one that is there is not overwritten."""
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w")
    except OSError as error:
        raise usage(f"{path} cannot be made: {error.strerror}") from error
