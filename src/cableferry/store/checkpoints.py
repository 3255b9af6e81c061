"""Moves a SQLite database's write-ahead log into its file, beside the writer and never in its way."""

import threading

import apsw
import structlog

log = structlog.get_logger()

PAGES = 1_000
# a log that is written without a pause never gets empty beside the writer, so now and then the writer helps
LONGEST_PAGES = 32_000


class Checkpoints:
    """A thread with a connection of its own; the writer rings it, and does not wait."""

    def __init__(self, connection: apsw.Connection, longest_pages: int = LONGEST_PAGES) -> None:
        self._connection = connection
        self._is_wanted = threading.Event()
        self._is_closing = False
        self._is_moving = threading.Lock()
        self._longest_pages = self._writer_helps_at = longest_pages
        self._thread = threading.Thread(target=self._serve, name="store-checkpoints", daemon=True)
        self._thread.start()

    def after_commit(self, connection: apsw.Connection, name: str, pages: int) -> int:
        """SQLite calls this on the writer's thread with the length of the log."""
        if pages < PAGES:
            self._writer_helps_at = self._longest_pages
        elif pages < self._writer_helps_at:
            self._is_wanted.set()
        else:
            self._writer_helps_at = pages + self._longest_pages
            self._move(connection)
        return apsw.SQLITE_OK

    def close(self) -> None:
        self._is_closing = True
        self._is_wanted.set()
        self._thread.join()
        self._connection.close()

    def _serve(self) -> None:
        while self._is_wanted.wait() and not self._is_closing:
            self._is_wanted.clear()
            self._move(self._connection)

    def _move(self, connection: apsw.Connection) -> None:
        try:
            with self._is_moving:
                # PASSIVE waits for no reader; what one still needs is moved the next time
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error as error:
            log.warning("checkpoint failed", error=str(error))
