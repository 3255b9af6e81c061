"""A real server in a thread of this process, for what the pages promise."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from cableferry.server import app, serve
from cableferry.server.settings import AuthSection, DatabaseSection, ServerSection, Settings


@contextlib.contextmanager
def running(folder: Path) -> Iterator[str]:
    """The address of a server that keeps its data in the folder and trusts everybody on this machine."""
    settings = Settings(
        server=ServerSection(port=0),
        database=DatabaseSection(data_dir=folder),
        auth=AuthSection(off=True),
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
