"""How S3 spells a refusal: its code, the status that the code travels with, and its document."""

from collections.abc import Mapping

from cableferry.core.errors import Kind, Refusal
from cableferry.wire.s3 import xml

TYPE = "application/xml"

STATUSES: Mapping[str, int] = {
    "AccessDenied": 403,
    "AuthorizationHeaderMalformed": 400,
    "AuthorizationQueryParametersError": 400,
    "BadDigest": 400,
    "BucketAlreadyOwnedByYou": 409,
    "EntityTooLarge": 400,
    "EntityTooSmall": 400,
    "IncompleteBody": 400,
    "InsufficientStorage": 507,
    "InternalError": 500,
    "InvalidAccessKeyId": 403,
    "InvalidArgument": 400,
    "InvalidDigest": 400,
    "InvalidObjectState": 403,
    "InvalidPart": 400,
    "InvalidPartNumber": 416,
    "InvalidPartOrder": 400,
    "InvalidRange": 416,
    "InvalidRequest": 400,
    "KeyTooLongError": 400,
    "MalformedXML": 400,
    "MethodNotAllowed": 405,
    "MissingContentLength": 411,
    "NoSuchBucket": 404,
    "NoSuchKey": 404,
    "NoSuchUpload": 404,
    "NoSuchVersion": 404,
    "NotImplemented": 501,
    "OperationAborted": 409,
    "PreconditionFailed": 412,
    "RequestTimeTooSkewed": 403,
    "RequestTimeout": 400,
    "ServiceUnavailable": 503,
    "SignatureDoesNotMatch": 403,
    "SlowDown": 503,
    "XAmzContentSHA256Mismatch": 400,
}

CODES: Mapping[Kind, str] = {
    Kind.BAD_AUTHORIZATION: "AuthorizationHeaderMalformed",
    Kind.ARTIFACT_FAILED: "InvalidObjectState",
    Kind.BAD_DIGEST: "BadDigest",
    Kind.BAD_PATH: "InvalidArgument",
    Kind.BAD_SIGNATURE: "SignatureDoesNotMatch",
    Kind.BUG: "InternalError",
    Kind.CHANGED_MEANWHILE: "OperationAborted",
    Kind.COMPLETED_UPLOAD: "NoSuchUpload",
    Kind.CLOCK_SKEW: "RequestTimeTooSkewed",
    Kind.COMMITTED: "InvalidObjectState",
    Kind.INCOMPLETE: "IncompleteBody",
    Kind.MALFORMED: "InvalidArgument",
    Kind.NOT_MANAGED: "InvalidObjectState",
    Kind.RANGE_NOT_SATISFIABLE: "InvalidRange",
    Kind.STORAGE_FULL: "InsufficientStorage",
    Kind.TOO_LARGE: "EntityTooLarge",
    Kind.TOO_MANY: "SlowDown",
    Kind.TOO_SLOW: "RequestTimeout",
    Kind.UNAVAILABLE: "ServiceUnavailable",
    Kind.UNKNOWN_PART: "InvalidPart",
    Kind.UNKNOWN_ROUTE: "NoSuchKey",
    Kind.UNKNOWN_UPLOAD: "NoSuchUpload",
    Kind.WRONG_METHOD: "MethodNotAllowed",
}
# for a kind that has no code of its own
_BY_STATUS = {
    403: "AccessDenied",
    401: "AccessDenied",
    404: "NoSuchKey",
    409: "OperationAborted",
    412: "PreconditionFailed",
}


def of(refusal: Refusal, status: int) -> str:
    """The code that the refusal names itself, else that of its kind, else that of its status."""
    named = refusal.facts.get("code")
    if isinstance(named, str):
        return named
    if refusal.facts.get("header") == "Content-MD5":
        return "InvalidDigest"
    return CODES.get(refusal.kind) or _BY_STATUS.get(status, "InvalidRequest")


def document(code: str, refusal: Refusal, resource: str, request_id: str) -> bytes:
    """What S3's clients look into when they are refused."""
    nodes: list[xml.Node] = [("Code", code), ("Message", refusal.detail), ("Resource", resource)]
    if refusal.kind is Kind.CLOCK_SKEW:
        nodes.append(("ServerTime", str(refusal.facts.get("server_time"))))
    return xml.write("Error", [*nodes, ("RequestId", request_id)], namespace=None)
