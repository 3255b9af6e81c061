"""What the edge refuses before the engine is asked, each with the status and headers it travels with."""

from collections.abc import Mapping
from http import HTTPStatus

from cableferry.core.errors import Conflict, Forbidden, Invalid, Kind, NotFound, Refusal


class Denial(Refusal):
    """A refusal of the edge."""

    status: int = HTTPStatus.BAD_REQUEST

    def headers(self) -> Mapping[str, str]:
        return {}


class Unauthorized(Denial):
    status = HTTPStatus.UNAUTHORIZED
    default = Kind.UNAUTHENTICATED

    def headers(self) -> Mapping[str, str]:
        return {"www-authenticate": "HMAC-SHA256, Bearer"}


class NoCredentials(Unauthorized):
    """Nothing was said of who calls; from a network that is trusted, that may do."""


class Undecodable(Denial):
    """A body or a query that is not what the endpoint takes; `where` leads to what is wrong with it."""

    def __init__(self, detail: str, where: tuple[str, ...], reason: str, kind: Kind | None = None) -> None:
        super().__init__(detail, kind)
        self.where = where
        self.reason = reason


class TooMany(Denial):
    status = HTTPStatus.TOO_MANY_REQUESTS
    default = Kind.TOO_MANY

    def __init__(self, detail: str, retry_after: int) -> None:
        super().__init__(detail)
        self.retry_after = retry_after

    def headers(self) -> Mapping[str, str]:
        return {"retry-after": str(self.retry_after)}


class TooLarge(Denial):
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    default = Kind.TOO_LARGE


class LargeUpload(TooLarge):
    """The same with what a client of resumable uploads has to keep to."""

    def __init__(self, detail: str, limits: Mapping[str, str]) -> None:
        super().__init__(detail)
        self.limits = limits

    def headers(self) -> Mapping[str, str]:
        return self.limits


class TooSlow(Denial):
    status = HTTPStatus.REQUEST_TIMEOUT
    default = Kind.TOO_SLOW


class InsufficientStorage(Denial):
    status = HTTPStatus.INSUFFICIENT_STORAGE
    default = Kind.STORAGE_FULL


class Damaged(Denial):
    """Bytes in the store are not what they were; nothing that the client did is wrong."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    default = Kind.DAMAGED


class NotSatisfiable(Denial):
    """No byte that was asked for is in the file."""

    status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
    default = Kind.RANGE_NOT_SATISFIABLE

    def __init__(self, detail: str, size_bytes: int) -> None:
        super().__init__(detail)
        self.size_bytes = size_bytes

    def headers(self) -> Mapping[str, str]:
        return {"content-range": f"bytes */{self.size_bytes}"}


class PreconditionFailed(Denial):
    status = HTTPStatus.PRECONDITION_FAILED
    default = Kind.PRECONDITION_FAILED


class TusVersion(Denial):
    """A version of the tus protocol that is not served; the answer says which are."""

    status = HTTPStatus.PRECONDITION_FAILED
    default = Kind.UNSUPPORTED_VERSION

    def __init__(self, detail: str, version: str, kind: Kind | None = None) -> None:
        super().__init__(detail, kind)
        self.version = version

    def headers(self) -> Mapping[str, str]:
        return {"tus-version": self.version}


class UnsupportedType(Denial):
    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    default = Kind.UNSUPPORTED_TYPE


class Locked(Denial):
    status = HTTPStatus.LOCKED
    default = Kind.UPLOAD_BUSY


class ChecksumMismatch(Denial):
    """A part is not what it was said to be; only the tus protocol knows this status."""

    status = 460
    default = Kind.BAD_DIGEST


class UnknownRoute(Denial):
    status = HTTPStatus.NOT_FOUND
    default = Kind.UNKNOWN_ROUTE


class WrongMethod(Denial):
    status = HTTPStatus.METHOD_NOT_ALLOWED
    default = Kind.WRONG_METHOD

    def __init__(self, detail: str, allowed: str) -> None:
        super().__init__(detail)
        self.allowed = allowed

    def headers(self) -> Mapping[str, str]:
        return {"allow": self.allowed}


class Unavailable(Denial):
    status = HTTPStatus.SERVICE_UNAVAILABLE
    default = Kind.UNAVAILABLE

    def headers(self) -> Mapping[str, str]:
        return {"retry-after": "1"}


class Bug(Denial):
    """Not a refusal but our fault, told without its particulars."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    default = Kind.BUG


def phrase(status: int) -> str:
    """What a status means in a word or two."""
    return "Checksum Mismatch" if status == ChecksumMismatch.status else HTTPStatus(status).phrase


def status_of(refusal: Refusal) -> int:
    """The HTTP status a refusal has in every contract of ours."""
    match refusal:
        case Denial():
            return refusal.status
        case NotFound():
            return HTTPStatus.NOT_FOUND
        case Conflict():
            return HTTPStatus.CONFLICT
        case Forbidden():
            return HTTPStatus.FORBIDDEN
        case Invalid(kind=Kind.KEY_REUSED):
            return HTTPStatus.UNPROCESSABLE_ENTITY
        case _:
            return HTTPStatus.BAD_REQUEST
