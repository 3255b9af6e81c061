"""A database full of rows of every kind, drawn by chance from one seed, and the same rows as values."""

import random

import msgspec
from msgspec.structs import replace

from cableferry.core import jobs as core
from cableferry.core.artifacts import Artifact, Description, Draft, File, Residence, Role, Stage, Use
from cableferry.core.jobs import Job, Payload, State, Transition
from cableferry.core.workers import Offer, Worker
from cableferry.store import artifacts, files, history, jobs, workers
from cableferry.store.tx import Store, Tx
from tests.core.specimens import a_worker, seconds

NAMES = ["one", "Two", "100%", "a_b", "Grüße", "!", None]
PATHS = ["a", "a/b", "a0", "data.csv", "Data.csv", "é", "日本/x", "z%", "_"]


class Town(msgspec.Struct):
    """What is in the database, each kind in the order of age."""

    jobs: list[Job]
    transitions: list[Transition]
    workers: list[Worker]
    artifacts: list[Artifact]
    files: list[File]
    uses: list[tuple[int, int, Use]]


def build(store: Store, seed: int = 7) -> Town:
    """Each job and each artifact in a transaction of its own, so that no two were created at one time."""
    chance = random.Random(seed)
    town = Town([], [], [], [], [], [])
    town.workers += store.write(lambda tx: [_worker(tx, f"w{number}", chance) for number in range(4)])
    for number in range(8):
        town.artifacts.append(store.write(lambda tx, n=number: _artifact(tx, f"a{n}", chance, town)))
    for number in range(12):
        town.jobs.append(store.write(lambda tx, n=number: _job(tx, f"j{n}", chance, town)))
    store.write(lambda tx: jobs.add(tx, "elsewhere", "other", core.Draft("embed")))
    town.files.sort(key=lambda file: (file.artifact_key, file.path.encode()))
    return town


def _worker(tx: Tx, id: str, chance: random.Random) -> Worker:
    heard = seconds(chance.randint(0, 3))
    worker = a_worker(id, Offer("embed"), hostname=chance.choice(["Head-1", "login", None]))
    worker = replace(worker, seen_at=worker.seen_at + heard)
    workers.put(tx, worker)
    return worker


def _artifact(tx: Tx, id: str, chance: random.Random, town: Town) -> Artifact:
    draft = Draft(
        type=chance.choice(["tabular", "blob"]),
        format=chance.choice(["csv", None]),
        residence=chance.choice(list(Residence)),
        name=chance.choice(NAMES),
        job_id=chance.choice(["j1", "j2", None]),
        created_by=chance.choice(["user:mia", None]),
    )
    added = artifacts.add(tx, id, draft)
    touched = added.touched_at + seconds(chance.randint(0, 2))
    said = {"stage": chance.choice(list(Stage)), "size_bytes": chance.choice([None, 0, 5]), "touched_at": touched}
    after = replace(added, revision=2, sha256=chance.choice(["aa", None]), **said)
    artifacts.save(tx, added, after)
    town.files += [_file(tx, after, path, chance) for path in chance.sample(PATHS, chance.randint(0, 5))]
    return after


def _file(tx: Tx, artifact: Artifact, path: str, chance: random.Random) -> File:
    said = Description(path, chance.choice([*Role, None]), chance.choice(["text/csv", None]))
    new = files.new(artifact.key, f"f-{artifact.key}-{path}", said, 1, artifact.created_at)
    new = replace(new, sha256=chance.choice(["aa", "bb"]), size_bytes=chance.choice([None, 3, 2**40]))
    return files.put(tx, new)


def _job(tx: Tx, id: str, chance: random.Random, town: Town) -> Job:
    draft = core.Draft(chance.choice(["embed", "align"]), chance.choice(["gpu", None]), submit_user="mia")
    added = jobs.add(tx, id, "emx2", draft)
    state = chance.choice([State.READY, State.CLAIMED, State.RUNNING, State.SUCCEEDED])
    named = chance.choice([None, *(artifact.id for artifact in town.artifacts)])
    said = {"worker": chance.choice(["w0", "w1", None]), "slurm_job_id": chance.choice(["17", None])}
    touched = added.touched_at + seconds(chance.randint(0, 2))
    after = replace(added, state=state, revision=2, output_artifact_id=named, touched_at=touched, **said)
    jobs.save(tx, [(added, after)])
    told = [_transition(after, seq, chance, tx) for seq in range(1, chance.randint(2, 6))]
    history.record(tx, told)
    town.transitions += told
    for used_as in Use:
        for artifact in chance.sample(town.artifacts, chance.randint(0, 3)):
            artifacts.use(tx, after.key, used_as, [artifact.id])
            town.uses.append((artifact.key, after.key, used_as))
    return after


def _transition(job: Job, seq: int, chance: random.Random, tx: Tx) -> Transition:
    payload = Payload(worker=chance.choice(["w0", "w1", None]), progress=chance.choice([0.5, None]))
    new = chance.choice(list(State))
    at = tx.now + seconds(chance.randint(0, 2))
    return Transition(job.key, seq, 1, 0, chance.choice([None, State.READY]), new, None, "user:mia", at, payload)
