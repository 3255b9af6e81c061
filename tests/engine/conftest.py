"""Each test gets a store of its own, on SQLite, and sets its clock."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.engine.reading import Depot
from cableferry.store.blobs.local import LocalBlobs
from cableferry.store.tx import Store
from cableferry.testing import stores
from tests.engine import containers
from tests.engine.containers import Containers
from tests.engine.trusted import Clock
from tests.engine.world import World


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with stores.opened(stores.sqlite_url(tmp_path), clock) as opened:
        yield opened


@pytest.fixture
def world(store: Store, clock: Clock) -> World:
    """The use cases of jobs and workers over that store."""
    return World(store, clock)


@pytest.fixture
def ships(store: Store, clock: Clock) -> Containers:
    """The use cases of the worker contract over that store."""
    return Containers(store, clock, containers.RULES)


@pytest.fixture
def depot(world: World, tmp_path: Path) -> Iterator[Depot]:
    blobs = LocalBlobs(tmp_path / "blobs")
    yield Depot(world.store, blobs)
    asyncio.run(blobs.close())
