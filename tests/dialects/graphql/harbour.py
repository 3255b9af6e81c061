"""Two workers, seven jobs, one for each status, three artifacts with files, and a way to ask about them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from cableferry.core.artifacts import Artifact, Description, Draft, Role, Stage
from cableferry.core.jobs import Job, State
from cableferry.core.workers import Offer
from cableferry.dialects.graphql import answering
from cableferry.dialects.graphql.lookups import USUAL, Limits
from cableferry.store import artifacts, files
from cableferry.store.tx import Row, Statement, Store, Tx
from cableferry.wire.graphql import AnswerBody, QuestionBody
from tests.engine.trusted import Clock
from tests.engine.world import ON_THE_WAY, World

Value = dict[str, Any]


class Counted:
    """A transaction that notes what it is asked."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.now = tx.now
        self.names: list[str] = []

    def all(self, what: Statement, params: Sequence[object] = ()) -> list[Row]:
        self.names.append(what.name)
        return self._tx.all(what, params)

    def one(self, what: Statement, params: Sequence[object] = ()) -> Row | None:
        self.names.append(what.name)
        return self._tx.one(what, params)


class Harbour(NamedTuple):
    """The database, and what is in it in the order of age."""

    store: Store
    jobs: list[Job]
    artifacts: list[Artifact]

    def ask(self, text: str, limits: Limits = USUAL, **variables: Any) -> tuple[Value, list[str]]:
        """The answer, and the statements that it took."""

        def read(tx: Tx) -> tuple[AnswerBody, list[str]]:
            counted = Counted(tx)
            understood = answering.understood([QuestionBody(text, variables=variables)])
            (answer,) = answering.answers(counted, "emx2", understood, limits)
            return answer, counted.names

        answer, names = self.store.read(read)
        decoded: Value = msgspec.json.decode(msgspec.json.encode(answer))
        return decoded, names

    def data(self, text: str, **variables: Any) -> Any:
        answer, _ = self.ask(text, **variables)
        assert "errors" not in answer, answer
        return answer["data"]

    def mistake(self, text: str, limits: Limits = USUAL, **variables: Any) -> str:
        """What the first error says."""
        answer, _ = self.ask(text, limits, **variables)
        return str(answer["errors"][0]["message"])


def fill(store: Store, clock: Clock) -> Harbour:
    world = World(store, clock)
    world.register("w1", Offer("embed", "gpu", 4))
    world.register("w2", Offer("align"))
    kept = [store.write(lambda tx, n=n: _artifact(tx, n)) for n in range(3)]
    jobs = []
    for number, state in enumerate(ON_THE_WAY):
        clock.passes(minutes=1)
        said = {"parameters": msgspec.Raw(b'{"n": %d}' % number), "submit_user": "mia"}
        job = world.a_job(state, inputs=msgspec.Raw(b'["a0", "a1"]'), uses=("a0", "a1"), **said)
        jobs.append(job)
    clock.passes(minutes=1)
    running = next(job for job in jobs if job.state is State.RUNNING)
    world.report(running.id, State.RUNNING, progress=0.5, phase="half")
    done = world.a_job(State.RUNNING)
    jobs.append(world.report(done.id, State.SUCCEEDED, output_artifact_id="a2", detail="ready"))
    return Harbour(store, [world.get(job.id) for job in jobs], kept)


def _artifact(tx: Tx, number: int) -> Artifact:
    """Committed, with one file more than the one before."""
    name = ["first table", "second table", None][number]
    draft = Draft(type="tabular", format="csv", name=name, metadata=msgspec.Raw(b'{"n": 1}'), created_by="user:mia")
    added = artifacts.add(tx, f"a{number}", draft)
    for place in range(number + 1):
        said = Description(f"part-{place}.csv", Role.PRIMARY if place == 0 else None, "text/csv")
        new = files.new(added.key, f"f-{number}-{place}", said, place, added.created_at)
        files.put(tx, replace(new, sha256="ab", size_bytes=2**40 + place))
    after = replace(added, stage=Stage.COMMITTED, revision=2, sha256="cd", size_bytes=2**40)
    artifacts.save(tx, added, after)
    return after
