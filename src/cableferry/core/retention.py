"""How long artifacts are kept: each policy says why one may go, and some may go by no policy."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

import msgspec

from cableferry.core.artifacts import Artifact, Stage

EVERY_OTHER_TYPE = "*"


class Uses(msgspec.Struct, frozen=True):
    """What the jobs that are still there make of an artifact.

    `takers` have not ended and take it as input, `makers` have it as their output or log, `jobs` are all that use it.
    """

    takers: int = 0
    makers: int = 0
    jobs: int = 0
    last_used_at: datetime | None = None


class Policy(Protocol):
    """One reason to let artifacts go."""

    @property
    def least(self) -> timedelta:
        """No artifact younger than this goes."""
        ...

    def why(self, artifact: Artifact, uses: Uses, now: datetime) -> str | None:
        """Why an artifact may go by now, None while it may not."""
        ...


class Lifetimes(msgspec.Struct, frozen=True):
    """Each type has a time to live, from its commit on."""

    by_type: Mapping[str, timedelta]

    @property
    def least(self) -> timedelta:
        return min(self.by_type.values())

    def why(self, artifact: Artifact, uses: Uses, now: datetime) -> str | None:
        life = self.by_type.get(artifact.type, self.by_type.get(EVERY_OTHER_TYPE))
        if artifact.committed_at is None or life is None or now - artifact.committed_at < life:
            return None
        return f"artifacts of type {artifact.type} are kept for {told(life)}"


class Unused(msgspec.Struct, frozen=True):
    """What no job refers to goes a while after its commit, or after the last such job was deleted."""

    least: timedelta

    def why(self, artifact: Artifact, uses: Uses, now: datetime) -> str | None:
        if artifact.committed_at is None or uses.jobs:
            return None
        since = max(artifact.committed_at, uses.last_used_at or artifact.committed_at)
        return f"no job has used it for {told(self.least)}" if now - since >= self.least else None


class Failures(msgspec.Struct, frozen=True):
    """What has failed can still be looked at for a while."""

    least: timedelta

    def why(self, artifact: Artifact, uses: Uses, now: datetime) -> str | None:
        if artifact.stage is not Stage.FAILED or now - artifact.touched_at < self.least:
            return None
        return f"it failed, and failed ones are kept for {told(self.least)}"


class Retention(msgspec.Struct, frozen=True):
    """The policies in force; without any, an artifact stays until somebody deletes it."""

    policies: Sequence[Policy] = ()
    frees_results: bool = False

    def cut(self, now: datetime) -> datetime | None:
        """Nothing that was created after this may go."""
        return now - min(policy.least for policy in self.policies) if self.policies else None


def why(retention: Retention, artifact: Artifact, uses: Uses, now: datetime) -> str | None:
    """Why an artifact may go: what a job still needs, and unless they are freed what a kept job has made, may not."""
    if artifact.is_open or uses.takers or (uses.makers and not retention.frees_results):
        return None
    said = (policy.why(artifact, uses, now) for policy in retention.policies)
    return next((reason for reason in said if reason is not None), None)


def stalled(artifact: Artifact) -> str:
    """What is said of an artifact that nothing came to for too long."""
    if artifact.stage is Stage.REGISTERED:
        return "it was registered and never committed"
    return "it was never committed, and nothing was sent to it any more"


def told(span: timedelta) -> str:
    """A span in the largest unit that counts it whole."""
    seconds = span.total_seconds()
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        count, rest = divmod(seconds, length)
        if count and not rest:
            return f"{count:.0f} {unit}{'' if count == 1 else 's'}"
    return f"{seconds:g} seconds"
