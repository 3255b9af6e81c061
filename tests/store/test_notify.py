"""News crosses processes as a hint, and nothing depends on it."""

import queue
import subprocess
import sys
from collections.abc import Iterator

import pytest

from cableferry.store import connect
from cableferry.store.notify import ANYTHING
from cableferry.store.postgres import PostgresStore
from cableferry.store.tx import News, Store
from cableferry.testing import stores

pytestmark = pytest.mark.postgres

ANNOUNCE = """
import sys
from cableferry.store import connect
from cableferry.store.tx import News

store = connect.open_store(sys.argv[1])
store.write(lambda tx: tx.announce(News("job", "from another process")))
store.close()
"""


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url


@pytest.fixture
def listening(url: str) -> Iterator[PostgresStore]:
    with stores.opened(url, notify=True) as store:
        assert isinstance(store, PostgresStore)
        assert store.is_listening(20)
        yield store


def _ears(store: Store) -> "queue.Queue[News]":
    heard: queue.Queue[News] = queue.Queue()
    store.on_news(lambda news: [heard.put(item) for item in news])  # type: ignore[func-returns-value]  # puts each
    return heard


def test_news_reaches_another_process(url: str, listening: PostgresStore) -> None:
    heard = _ears(listening)

    subprocess.run([sys.executable, "-c", ANNOUNCE, url], check=True)

    assert heard.get(timeout=20) == News("job", "from another process")


def test_ones_own_news_is_told_once(url: str, listening: PostgresStore) -> None:
    heard = _ears(listening)
    listening.write(lambda tx: tx.announce(News("job", "own")))

    with stores.opened(url, notify=True) as other:
        other.write(lambda tx: tx.announce(News("job", "other")))

        assert [heard.get(timeout=20), heard.get(timeout=20)] == [News("job", "own"), News("job", "other")]


def test_too_much_news_becomes_one_word(url: str, listening: PostgresStore) -> None:
    heard = _ears(listening)

    with stores.opened(url, notify=True) as other:
        other.write(lambda tx: [tx.announce(News("job", f"{n:0100}")) for n in range(200)])

        assert heard.get(timeout=20) == ANYTHING


def test_a_listener_that_lost_its_connection_comes_back(url: str, listening: PostgresStore) -> None:
    heard = _ears(listening)

    with connect.driver("postgres").connect(url) as admin:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")

    # what was said meanwhile is lost, so it tells everybody to look
    assert heard.get(timeout=20) == ANYTHING


def test_anyone_may_write_to_the_channel_and_break_nothing(url: str, listening: PostgresStore) -> None:
    heard = _ears(listening)

    with connect.driver("postgres").connect(url) as stranger:
        stranger.execute("SELECT pg_notify('cableferry_news', 'hello')")
        stranger.execute("""SELECT pg_notify('cableferry_news', '["x", [{"topic": "job", "subject": "j1"}]]')""")

    assert heard.get(timeout=20) == News("job", "j1")


def test_everything_works_without_hints(url: str) -> None:
    with stores.opened(url, notify=False) as store:
        heard = _ears(store)
        store.write(lambda tx: tx.announce(News("job", "own")))

        assert heard.get(timeout=20) == News("job", "own")
