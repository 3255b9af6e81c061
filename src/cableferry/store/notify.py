"""Hints between processes on one PostgreSQL database: sent after a commit, never waited for."""

import os
import selectors
import threading
import uuid
from collections.abc import Callable, Sequence
from queue import SimpleQueue

import msgspec
import psycopg
import structlog

from cableferry.store.tx import News

log = structlog.get_logger()

CHANNEL = "cableferry_news"
DEBOUNCE_SECONDS = 0.015
LONGEST_PAYLOAD_BYTES = 7_900  # PostgreSQL takes fewer than 8 000
RECONNECT_SECONDS = (0.1, 0.5, 2.0, 5.0)
# said when there is too much to say, and after a pause in which anything may have been missed
ANYTHING = News("*")
_NOTIFY = "SELECT pg_notify(%s, %s)"


class Letter(msgspec.Struct, array_like=True):
    """What one process tells the others."""

    sender: str
    news: Sequence[News]


class Hints:
    """Two threads with a connection each: one tells, one listens; both come back by themselves."""

    def __init__(self, url: str, tell: Callable[[Sequence[News]], None]) -> None:
        self._url = url
        self._tell = tell
        self._sender = uuid.uuid4().hex
        self._outbox: SimpleQueue[Sequence[News] | None] = SimpleQueue()
        self._is_closing = threading.Event()
        self._woken, self._waker = os.pipe()
        self._is_listening = threading.Event()
        self._threads = [
            threading.Thread(target=self._telling, name="store-hints-out", daemon=True),
            threading.Thread(target=self._listening, name="store-hints-in", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def send(self, news: Sequence[News]) -> None:
        self._outbox.put(news)

    def wait_until_listening(self, seconds: float) -> bool:
        return self._is_listening.wait(seconds)

    def close(self) -> None:
        self._is_closing.set()
        self._outbox.put(None)
        os.write(self._waker, b"x")
        for thread in self._threads:
            thread.join()
        os.close(self._woken)
        os.close(self._waker)

    def _telling(self) -> None:
        connection: psycopg.Connection | None = None
        while (news := self._collect()) is not None:
            try:
                connection = connection or psycopg.connect(self._url, autocommit=True, connect_timeout=10)
                connection.execute(_NOTIFY, (CHANNEL, self._letter(news)))
            except psycopg.Error as error:
                # a lost hint is no loss: the others look for themselves every few seconds
                log.warning("hint lost", error=str(error))
                connection = None
        if connection is not None:
            connection.close()

    def _collect(self) -> list[News] | None:
        """The first news, and all that follows it within the debounce; None at the end."""
        news = self._outbox.get()
        if news is None:
            return None
        self._is_closing.wait(DEBOUNCE_SECONDS)
        heap = dict.fromkeys(map(_as_key, news))
        while not self._outbox.empty():
            more = self._outbox.get()
            if more is None:
                self._outbox.put(None)  # say this first, and end the next time
                break
            heap.update(dict.fromkeys(map(_as_key, more)))
        return [News(*key) for key in heap]

    def _letter(self, news: Sequence[News]) -> str:
        letter = msgspec.json.encode(Letter(self._sender, news))
        if len(letter) > LONGEST_PAYLOAD_BYTES:
            letter = msgspec.json.encode(Letter(self._sender, [ANYTHING]))
        return letter.decode()

    def _listening(self) -> None:
        pauses = iter(RECONNECT_SECONDS)
        while not self._is_closing.is_set():
            try:
                self._listen()
            except psycopg.Error as error:
                pauses = iter(RECONNECT_SECONDS) if self._is_listening.is_set() else pauses
                self._is_listening.clear()
                pause = next(pauses, RECONNECT_SECONDS[-1])
                log.warning("not listening", error=str(error), again_in_seconds=pause)
                self._is_closing.wait(pause)

    def _listen(self) -> None:
        with (
            psycopg.connect(self._url, autocommit=True, connect_timeout=10) as connection,
            selectors.DefaultSelector() as selector,
        ):
            connection.execute(f"LISTEN {CHANNEL}")
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            self._is_listening.set()
            self._tell([ANYTHING])
            while selector.select() and not self._is_closing.is_set():
                self._fetch(connection)

    def _fetch(self, connection: psycopg.Connection) -> None:
        connection.pgconn.consume_input()
        while (notice := connection.pgconn.notifies()) is not None:
            letter = _read(notice.extra)
            if letter is not None and letter.sender != self._sender:
                self._tell(letter.news)


def _read(payload: bytes) -> Letter | None:
    try:
        return msgspec.json.decode(payload, type=Letter)
    except msgspec.DecodeError:
        return None  # anyone with access to the database can write to the channel


def _as_key(news: News) -> tuple[str, str, str]:
    return (news.topic, news.subject, news.detail)
