"""Killed fifty times while files come and go, a server serves no other bytes than it took, and leaves none behind."""

import asyncio
import contextlib
import hashlib
import random
import secrets
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest

from cableferry.store import check, leftovers
from cableferry.store.blobs.opening import open_blobs
from cableferry.store.tx import statement
from cableferry.testing import processes, s3, stores
from tests.crash.bringing import HOME, Ask, Bringer, collect, sent
from tests.crash.load import DEATHS, connected
from tests.crash.test_kill import Toll

pytestmark = pytest.mark.crash

BRINGERS = 6
# nothing is kept any longer than it must be: whatever is taken for rubbish and is none, will be missed
KEEPING = {
    "CABLEFERRY_ARTIFACTS__RETENTION__GRACE_MINUTES": "0",
    "CABLEFERRY_ARTIFACTS__RETENTION__ORPHAN_HOURS": "0",
}
PLACES = statement("places", "SELECT place FROM blob_pieces UNION SELECT place FROM upload_pieces ORDER BY place")


class Kept:
    """Where a server keeps bytes, and how its settings say so."""

    def __init__(self, where: Path | str, settings: Mapping[str, str], config: Mapping[str, str] | None = None) -> None:
        self.settings = {**KEEPING, **settings}
        self._blobs = open_blobs(where, config)

    def places(self) -> list[str]:
        async def listed() -> list[str]:
            return sorted([found.place async for found in self._blobs.places()])

        return asyncio.run(listed())


@pytest.fixture
def local(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "blobs", {})


@pytest.fixture
def bucket(s3_server: s3.Server) -> Kept:
    url, of_s3 = s3_server.url(secrets.token_hex(4)), "CABLEFERRY_ARTIFACTS__S3__"
    settings = {
        "CABLEFERRY_ARTIFACTS__STORE": url,
        "CABLEFERRY_ARTIFACTS__PART_BYTES": str(5 * 2**20),
        f"{of_s3}ENDPOINT": s3_server.endpoint,
        f"{of_s3}ACCESS_KEY_ID": s3_server.access_key_id,
        f"{of_s3}SECRET_ACCESS_KEY": s3_server.secret_access_key,
    }
    return Kept(url, settings, s3_server.config)


@pytest.mark.xdist_group("crash")
def test_thirty_deaths_over_a_folder_lose_no_byte_and_leave_none(tmp_path: Path, local: Kept) -> None:
    _die_often(tmp_path, local, 30)


@pytest.mark.xdist_group("s3")
def test_twenty_deaths_over_object_storage_lose_no_byte_and_leave_none(tmp_path: Path, bucket: Kept) -> None:
    _die_often(tmp_path, bucket, 20)


def _die_often(folder: Path, kept: Kept, deaths: int) -> None:
    chance = random.Random(deaths)
    bringers = [Bringer(number) for number in range(BRINGERS)]
    seen: set[str] = set()
    acknowledged = orphans = 0
    for _ in range(deaths):
        with processes.running(folder, settings=kept.settings) as server:
            read_back(server.port, bringers, seen)
            answers, found = _bring_and_kill(bringers, server, chance.randint(5, 60))
        acknowledged, orphans = acknowledged + answers, orphans + found
    with processes.running(folder, settings=kept.settings) as server:
        _finish(server.port, bringers)
        read_back(server.port, bringers, set())
        collect(server.port)

    assert acknowledged > deaths * 10
    assert orphans > 0
    _audit(folder, kept)


def _bring_and_kill(bringers: list[Bringer], server: processes.Process, last: int) -> tuple[int, int]:
    """How many answers came before the server died, and how many orphans were collected beside them all the time."""
    toll = Toll(last)
    with ThreadPoolExecutor(len(bringers) + 1) as pool:
        lives = [pool.submit(_live, bringer.live(server.port), toll) for bringer in bringers]
        collecting = pool.submit(_collect, server.port)
        toll.rings.wait(60)
        server.kill()
        return sum(life.result(60) for life in lives), collecting.result(60)


def _live(life: Iterator[None], toll: Toll) -> int:
    answers = 0
    try:
        for _ in life:
            answers += 1
            toll.count()
    except DEATHS:
        return answers
    raise AssertionError("the server did not die")


def _collect(port: int) -> int:
    orphans = 0
    with contextlib.suppress(*DEATHS):
        while True:
            orphans += collect(port)["orphans"]
    return orphans


def _finish(port: int, bringers: list[Bringer]) -> None:
    """What was not answered can be sent again."""
    for bringer in bringers:
        life = bringer.live(port)
        next(life)
        life.close()


def read_back(port: int, bringers: list[Bringer], seen: set[str]) -> None:
    """Every committed artifact that was not read before has exactly its bytes."""
    with contextlib.closing(connected(port)) as connection:
        for bringer in bringers:
            for artifact, files in bringer.committed.items():
                if artifact not in seen:
                    seen.add(artifact)
                    _is_whole(connection, artifact, files)


def _is_whole(connection: HTTPConnection, artifact: str, files: Mapping[str, str]) -> None:
    shown = sent(connection, Ask("GET", f"{HOME}/{artifact}"))
    assert (200, "COMMITTED") == (shown.status, shown.body["status"])
    listed = sent(connection, Ask("GET", f"{HOME}/{artifact}/files")).body["items"]
    assert dict(files) == {item["path"]: item["sha256"] for item in listed}
    for path, sha256 in files.items():
        got = sent(connection, Ask("GET", f"{HOME}/{artifact}/files/{quote(path)}"))
        assert 200 == got.status, (artifact, path, got)
        assert sha256 == hashlib.sha256(got.body).hexdigest(), (artifact, path)


def _audit(folder: Path, kept: Kept) -> None:
    """After one collection, the store of bytes holds what rows refer to, and nothing else."""
    with stores.opened(stores.sqlite_url(folder)) as store:
        assert [] == check.check(store).problems
        known = [row[0] for row in store.read(lambda tx: tx.all(PLACES))]
        assert 0 == store.read(leftovers.dead_count)

    assert known
    assert known == kept.places()
