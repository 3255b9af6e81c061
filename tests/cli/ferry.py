"""The real program, and a real server for it, as the tests of the command line and the worker use them."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from cableferry.client import emx2, schemes
from cableferry.client.emx2 import Emx2
from cableferry.server import app, serve
from cableferry.server.settings import AuthSection, DatabaseSection, ServerSection, Settings

FERRY = (sys.executable, "-m", "cableferry.cli.main")


class Ended(NamedTuple):
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **(more or {})}


def ferry(home: Path, *arguments: str, given: str = "", more: Mapping[str, str] | None = None) -> Ended:
    """Run one command to its end."""
    done = subprocess.run(
        [*FERRY, *arguments], input=given, capture_output=True, text=True, env=environment(home, more), check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def serving(data: Path, is_open: bool) -> Iterator[str]:
    """The address of a server in a thread; an open one trusts everybody on this machine."""
    settings = Settings(
        server=ServerSection(port=0),
        database=DatabaseSection(data_dir=data),
        auth=AuthSection(off=is_open),
    )
    listening = serve.listen(settings.server)
    server = serve.server(settings, app.create_app(settings))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield serve.address(settings.server, listening)
    finally:
        server.should_exit = True
        thread.join()


def connected(server: str) -> Emx2:
    """A client for whoever closes it."""
    return emx2.connect(server, schemes.Unsigned())


@contextlib.contextmanager
def client(server: str) -> Iterator[Emx2]:
    caller = connected(server)
    try:
        yield caller
    finally:
        caller.close()
