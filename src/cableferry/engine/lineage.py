"""Where an artifact came from and where it went: the jobs around it and the artifacts around those, level by level."""

from collections.abc import Collection

import msgspec

from cableferry.core.artifacts import Artifact, Use
from cableferry.core.jobs import Job
from cableferry.engine import artifacts
from cableferry.store import relations
from cableferry.store.tx import Tx

MOST_LEVELS = 6
# an artifact may have been taken by thousands of jobs, which nobody wants to see drawn
MOST_OF_ONE = 12
MOST_ARTIFACTS = 60


class Tie(msgspec.Struct, frozen=True):
    """A job that took an artifact or made it."""

    artifact: int
    job: int
    used_as: Use


class Lineage(msgspec.Struct):
    """What was found so far, by key; `is_cut` when there is more than is told."""

    artifacts: dict[int, Artifact]
    jobs: dict[int, Job]
    ties: dict[tuple[int, int, Use], Tie]
    is_cut: bool = False

    def tie(self, artifact: int, job: int, used_as: Use) -> None:
        self.ties[artifact, job, used_as] = Tie(artifact, job, used_as)

    def meet(self, found: Collection[Artifact]) -> list[int]:
        """The keys of those that were not known before, as far as there is room for them."""
        new = [each for each in found if each.key not in self.artifacts]
        room = MOST_ARTIFACTS - len(self.artifacts)
        self.is_cut = self.is_cut or len(new) > room
        self.artifacts.update((each.key, each) for each in new[:room])
        return [each.key for each in new[:room]]


def of(tx: Tx, pool: str, artifact_id: str, levels: int) -> Lineage:
    """The artifact with all that it came from, and all that was made of it, so many jobs away at most."""
    artifact = artifacts.get(tx, artifact_id)
    lineage = Lineage({artifact.key: artifact}, {}, {})
    before, after = [artifact.key], [artifact.key]
    for _ in range(levels):
        before = _sources(tx, pool, lineage, before) if before else []
        after = _results(tx, pool, lineage, after) if after else []
    _close(lineage)
    return lineage


def _sources(tx: Tx, pool: str, lineage: Lineage, keys: Collection[int]) -> list[int]:
    """The jobs that made these artifacts; what those jobs took."""
    makers = _keep(lineage, relations.makers(tx, pool, keys, MOST_OF_ONE + 1))
    found = relations.inputs(tx, makers, MOST_OF_ONE + 1) if makers else []
    for job, artifact in found:
        lineage.tie(artifact.key, job, Use.INPUT)
    return lineage.meet([artifact for _, artifact in found])


def _results(tx: Tx, pool: str, lineage: Lineage, keys: Collection[int]) -> list[int]:
    """The jobs that took these artifacts; what those jobs made."""
    takers = _keep(lineage, relations.takers(tx, pool, keys, MOST_OF_ONE + 1))
    found = relations.products(tx, takers, MOST_OF_ONE + 1) if takers else []
    for job, used_as, artifact in found:
        lineage.tie(artifact.key, job, used_as)
    return lineage.meet([artifact for _, _, artifact in found])


def _keep(lineage: Lineage, users: Collection[relations.User]) -> list[int]:
    """Note the latest jobs of each artifact; the keys of those that were not known before."""
    counted: dict[int, int] = {}
    new: dict[int, Job] = {}
    for user in users:
        counted[user.artifact_key] = counted.get(user.artifact_key, 0) + 1
        if counted[user.artifact_key] > MOST_OF_ONE:
            lineage.is_cut = True
            continue
        lineage.tie(user.artifact_key, user.job.key, user.used_as)
        if user.job.key not in lineage.jobs:
            new[user.job.key] = user.job
    lineage.jobs.update(new)
    return list(new)


def _close(lineage: Lineage) -> None:
    """Ties to what found no room lead nowhere."""
    for key in [key for key, tie in lineage.ties.items() if tie.artifact not in lineage.artifacts]:
        del lineage.ties[key]
