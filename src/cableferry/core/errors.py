"""Refusals: the four ways the engine says no, and the kinds a caller can tell apart.

Refusal
├── NotFound    the thing is not there (any more)
├── Conflict    the thing is there, but not in a shape that allows this
├── Invalid     the request makes no sense whatever the state
└── Forbidden   the caller may not do this
"""

from enum import StrEnum
from typing import ClassVar


class Kind(StrEnum):
    """What exactly was refused; part of the contract, each documented in docs/errors.md."""

    UNKNOWN_JOB = "unknown-job"
    DELETED_JOB = "deleted-job"
    UNKNOWN_WORKER = "unknown-worker"
    UNKNOWN_CREDENTIAL = "unknown-credential"
    UNKNOWN_USER = "unknown-user"
    UNKNOWN_TOKEN = "unknown-token"
    UNKNOWN_ACCESS_KEY = "unknown-access-key"
    UNKNOWN_SESSION = "unknown-session"
    UNKNOWN_HOST = "unknown-host"
    UNKNOWN_CONFIG = "unknown-config"
    UNKNOWN_ROUTE = "unknown-route"
    WRONG_METHOD = "wrong-method"
    UNKNOWN_ARTIFACT = "unknown-artifact"
    UNKNOWN_FILE = "unknown-file"
    NO_CONTENT = "no-content"
    UNKNOWN_UPLOAD = "unknown-upload"
    UNKNOWN_PART = "unknown-part"
    ALREADY_CLAIMED = "already-claimed"
    NOT_OFFERED = "not-offered"
    NO_ROOM = "no-room"
    DRAINED = "drained"
    ILLEGAL_MOVE = "illegal-move"
    STALE_LEASE = "stale-lease"
    ALREADY_ENDED = "already-ended"
    NOT_ENDED = "not-ended"
    COMMITTED = "committed"
    ARTIFACT_FAILED = "artifact-failed"
    NOT_MANAGED = "not-managed"
    NOT_DIRECT = "not-direct"
    HASH_MISMATCH = "hash-mismatch"
    BAD_INPUT = "bad-input"
    BAD_PATH = "bad-path"
    BAD_LOCATION = "bad-location"
    IN_USE = "in-use"
    TOO_MANY_FILES = "too-many-files"
    TOO_MANY_PARTS = "too-many-parts"
    MISMATCHING_OFFSET = "mismatching-upload-offset"
    INCONSISTENT_LENGTH = "inconsistent-upload-length"
    COMPLETED_UPLOAD = "completed-upload"
    UNKNOWN_LOG = "unknown-log"
    LOG_GAP = "log-gap"
    LOG_DIFFERS = "log-differs"
    LOG_CLOSED = "log-closed"
    TOO_MANY_LOGS = "too-many-logs"
    UPLOAD_BUSY = "upload-busy"
    SESSION_CONFLICT = "session-conflict"
    SESSION_REVOKED = "session-revoked"
    CHANGED_MEANWHILE = "changed-meanwhile"
    NAME_TAKEN = "name-taken"
    CREDENTIAL_EXISTS = "credential-exists"
    LAST_OWNER = "last-owner"
    MALFORMED = "malformed"
    MISSING_HEADER = "missing-header"
    BAD_HEADER = "bad-header"
    UNSUPPORTED_VERSION = "unsupported-version"
    WORKER_MISMATCH = "worker-mismatch"
    KEY_REUSED = "idempotency-key-reused"
    UNSUPPORTED_TYPE = "unsupported-type"
    TOO_LARGE = "too-large"
    INCOMPLETE = "incomplete"
    BAD_DIGEST = "bad-digest"
    DAMAGED = "damaged"
    TOO_SLOW = "too-slow"
    STORAGE_FULL = "storage-full"
    RANGE_NOT_SATISFIABLE = "range-not-satisfiable"
    PRECONDITION_FAILED = "precondition-failed"
    UNAUTHENTICATED = "unauthenticated"
    BAD_CSRF = "bad-csrf-token"
    BAD_SIGNATURE = "bad-signature"
    BAD_AUTHORIZATION = "bad-authorization"
    EXPIRED = "expired"
    CLOCK_SKEW = "clock-skew"
    REPLAYED = "replayed"
    TOO_MANY = "too-many-requests"
    TOO_COSTLY = "too-costly"
    NOT_ALLOWED = "not-allowed"
    NOT_YOURS = "not-yours"
    UNAVAILABLE = "unavailable"
    BUG = "bug"


class Refusal(Exception):
    """The engine's no: a sentence for a person, a kind and facts for a program."""

    default: ClassVar[Kind] = Kind.MALFORMED

    def __init__(self, detail: str, kind: Kind | None = None, **facts: str | int | float | None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.kind = kind or self.default
        self.facts = facts


class NotFound(Refusal):
    default = Kind.UNKNOWN_JOB


class Conflict(Refusal):
    default = Kind.ILLEGAL_MOVE


class Invalid(Refusal):
    default = Kind.MALFORMED


class Forbidden(Refusal):
    default = Kind.NOT_ALLOWED
