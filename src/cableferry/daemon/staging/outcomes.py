"""What becomes of bringing bytes to a job or away from it: a value, whatever went wrong in the world."""

import errno

import msgspec

from cableferry.client import errors
from cableferry.client.errors import Trouble
from cableferry.client.transfers import WrongHash
from cableferry.core.jobs import Cause
from cableferry.daemon import disks

# a disk or a network file system that may come back
_PASSING = frozenset({errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EAGAIN, errno.ENFILE, errno.EMFILE, errno.EBUSY})

# an earlier connection of ours, as a rule, that the server has not given up yet
_IN_OUR_WAY = frozenset({"upload-busy", "mismatching-upload-offset", "changed-meanwhile"})


class Cancelled(msgspec.Struct, frozen=True):
    """Somebody asked to stop; what was brought so far may stay."""


class Failed(msgspec.Struct, frozen=True):
    """Why it did not work, for the report; `may_pass` says that trying again later may help.

    `is_full` says that there is no room here, so whoever claims jobs should wait too.
    """

    cause: Cause
    detail: str
    may_pass: bool = False
    is_full: bool = False


class Stopped(Exception):
    """Raised inside, wherever somebody asked to stop."""


class Mismatch(Exception):
    """An input is not what its artifact says, and which file it is."""


class Unusable(Exception):
    """What will not work however often it is tried."""


KNOWN = (Mismatch, Unusable, Stopped, Trouble, OSError)


def failed(error: Exception, cause: Cause, what: str) -> Failed | Cancelled:
    """The value for one of the troubles above."""
    match error:
        case Stopped():
            return Cancelled()
        case Mismatch() | WrongHash():
            return Failed(Cause.MISMATCH, f"input_hash_mismatch: {what}{error}")
        case Unusable():
            return Failed(cause, f"{what}{error}")
        case Trouble():
            return Failed(cause, f"{what}{error}", may_pass=_may_pass(error))
        case OSError():
            is_full = error.errno in disks.FULL
            said = f"{what}{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
            return Failed(cause, said, is_full or error.errno in _PASSING, is_full)
        case _:
            raise error


def _may_pass(trouble: Trouble) -> bool:
    """Silence, a server in trouble, a credential that is just being exchanged and somebody in our way pass."""
    if isinstance(trouble, errors.Refused) and (trouble.problem.retryable or trouble.kind in _IN_OUR_WAY):
        return True
    return isinstance(trouble, errors.Unreachable | errors.Failed | errors.TooMany | errors.Unauthenticated)
