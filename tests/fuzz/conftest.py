"""Two servers, authentication on and off, each with something of everything in it to be found."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from requests.auth import AuthBase

from cableferry.core.access import Role
from cableferry.core.workers import Offer
from cableferry.engine import tokens, users
from cableferry.server import configured
from cableferry.server.settings import (
    AuthSection,
    DatabaseSection,
    Emx2Section,
    OpevaSection,
    Secret,
    ServerSection,
    Settings,
)
from cableferry.store.tx import Store
from cableferry.testing import servers, stores
from tests.engine.trusted import Clock
from tests.engine.world import ON_THE_WAY, World
from tests.fuzz.callers import SECRET, Bearer, Nobody, Signer

Names = Mapping[str, Sequence[str]]


class Ground(NamedTuple):
    """Where a server listens, what stands behind names in its paths, and who calls."""

    address: str
    names: Names
    caller: AuthBase


@contextlib.contextmanager
def _ground(folder: Path, auth: AuthSection, caller: str) -> Iterator[Ground]:
    # nothing waits: a long poll would only make the run long
    settings = Settings(
        server=ServerSection(port=0),
        database=DatabaseSection(data_dir=folder),
        emx2=Emx2Section(long_poll_seconds=0),
        opeva=OpevaSection(shared_data=folder / "share"),
        auth=auth,
    )
    with stores.opened(settings.database_url) as store:
        names = _seeded(store, settings)
        owner = Bearer(store.write(lambda tx: tokens.grant(tx, "owner", tokens.Wanted(Role.OWNER))).text)
        with servers.running(settings, store) as running:
            callers = {"nobody": Nobody(), "owner": owner, "worker": Signer("w1")}
            yield Ground(running.address, names, callers[caller])


def _seeded(store: Store, settings: Settings) -> Names:
    """Jobs in every state, workers, and users that may be changed without harm to the caller."""
    world = World(store, Clock(), configured.rules(settings))
    world.register("w1", Offer("*", "*"))
    world.register("w2", Offer("embed", "gpu"))
    for name, role in (("owner", Role.OWNER), ("ann", Role.EDITOR), ("bob", Role.VIEWER)):
        store.write(lambda tx, name=name, role=role: users.create(tx, name, role, None))
    jobs = [world.a_job(state).id for state in ON_THE_WAY for _ in range(8)]
    gone = world.create().id
    world.delete(gone)
    return {"job_id": [*jobs, gone], "worker_id": ["w1", "w2"], "name": ["ann", "bob"]}


@pytest.fixture(scope="module")
def trusting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with _ground(tmp_path_factory.mktemp("off"), AuthSection(off=True), "nobody") as ground:
        yield ground


@pytest.fixture(scope="module", params=["nobody", "owner", "worker"])
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with _ground(tmp_path_factory.mktemp("on"), AuthSection(shared_secret=Secret(SECRET)), request.param) as ground:
        yield ground
