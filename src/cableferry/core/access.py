"""Who is calling and what they may do."""

from enum import IntEnum

import msgspec

from cableferry.core.artifacts import Artifact
from cableferry.core.errors import Forbidden, Invalid, Kind
from cableferry.core.jobs import Job


class Role(IntEnum):
    """What a person may do; each role may do what those before it may."""

    VIEWER = 1
    EDITOR = 2
    MANAGER = 3
    OWNER = 4


class Person(msgspec.Struct, frozen=True):
    """A user, by the session or the token whose id stands here."""

    name: str
    role: Role
    session: str | None = None
    token: str | None = None

    @property
    def actor(self) -> str:
        return f"user:{self.name}"


class Claimant(msgspec.Struct, frozen=True):
    """Whoever signs with a worker's credential; no id when the shared secret signs for no worker."""

    worker: str | None
    credential: str

    @property
    def actor(self) -> str:
        return f"worker:{self.worker}" if self.worker else "worker:(shared secret)"


class Anyone(msgspec.Struct, frozen=True):
    """Whoever calls while authentication is off."""

    worker: str | None = None

    @property
    def actor(self) -> str:
        return f"worker:{self.worker}" if self.worker else "anyone"


Caller = Person | Claimant | Anyone


class Need(IntEnum):
    """What an endpoint asks of its caller; SELF is a signed-in user, whatever the role."""

    NOTHING = 0
    READ = 1
    CREATE = 2
    WORK = 3
    END = 4
    MANAGE = 5
    OWN = 6
    SELF = 7


_ROLES = {
    Need.NOTHING: Role.VIEWER,
    Need.READ: Role.VIEWER,
    Need.CREATE: Role.EDITOR,
    Need.WORK: Role.MANAGER,
    Need.END: Role.EDITOR,
    Need.MANAGE: Role.MANAGER,
    Need.OWN: Role.OWNER,
    Need.SELF: Role.VIEWER,
}
_WORKER_MAY = frozenset({Need.NOTHING, Need.READ, Need.CREATE, Need.WORK, Need.END})
_ANYONE_MAY = frozenset({*_WORKER_MAY, Need.MANAGE})


def check(caller: Caller, need: Need) -> None:
    """Refuse a caller whose kind or role does not reach what the endpoint asks."""
    match caller:
        case Claimant() if need not in _WORKER_MAY:
            raise Forbidden(f"worker credentials may not do this: sign in as a user with the role {word(_ROLES[need])}")
        case Anyone() if need not in _ANYONE_MAY:
            raise Forbidden("this needs a signed-in user: create one with `cableferry users create`")
        case Person() if caller.role < _ROLES[need]:
            wanted, has = word(_ROLES[need]), word(caller.role)
            raise Forbidden(f"this needs the role {wanted}, {caller.name} has {has}")
        case _:
            return


def check_may_write(may_write: bool, need: Need) -> None:
    """Refuse to change anything with a key that was issued for reading."""
    if not may_write and need is not Need.READ:
        raise Forbidden("this access key is for reading only: issue one that may write")


def check_end(caller: Caller, job: Job) -> None:
    """Refuse to end another's job: its creator may, its holder may, and a Manager."""
    match caller:
        case Claimant() if job.created_by != caller.actor and (caller.worker is None or job.worker != caller.worker):
            raise Forbidden(f"job {job.id} is neither leased to nor created by {caller.actor}", Kind.NOT_YOURS)
        case Person() if caller.role < Role.MANAGER and job.submit_user != caller.name:
            owner = job.submit_user or "nobody"
            raise Forbidden(f"job {job.id} belongs to {owner}: a Manager may end it", Kind.NOT_YOURS)
        case _:
            return


def check_own(caller: Caller, artifact: Artifact) -> None:
    """Refuse to change another's artifact: its creator may, and a Manager."""
    match caller:
        case Claimant() | Person(role=Role.VIEWER | Role.EDITOR) if artifact.created_by != caller.actor:
            owner = artifact.created_by or "nobody"
            raise Forbidden(f"artifact {artifact.id} belongs to {owner}: a Manager may change it", Kind.NOT_YOURS)
        case _:
            return


def worker_named(caller: Caller, named: str | None) -> str | None:
    """The worker a request speaks for: the one it names, if the caller may speak for that one."""
    match caller:
        case Claimant() if caller.worker is not None:
            if named is not None and named != caller.worker:
                raise Forbidden(f"{caller.actor} may not speak for worker {named}", Kind.NOT_YOURS)
            return caller.worker
        case _:
            return named


def speaking(caller: Caller, worker: str | None) -> str:
    """Who did it, for the history: callers that are no one in particular are the worker they speak for."""
    match caller:
        case Anyone() | Claimant(worker=None) if worker is not None:
            return f"worker:{worker}"
        case _:
            return caller.actor


def submit_user(caller: Caller, claimed: str | None) -> str | None:
    """Who a new job belongs to: the signed-in user; what the body claims only while authentication is off."""
    match caller:
        case Person():
            return caller.name
        case Anyone():
            return claimed
        case _:
            return None


def word(role: Role) -> str:
    return role.name.capitalize()


def role(word: str) -> Role:
    """The role a word stands for, in any case."""
    try:
        return Role[word.upper()]
    except KeyError:
        known = ", ".join(each.name.capitalize() for each in Role)
        raise Invalid(f"unknown role {word[:40]!r}: use one of {known}") from None
