"""S3's REST protocol over HTTP, path style: artifacts as objects, for clients that know nothing of artifacts."""

from cableferry.core.errors import Refusal
from cableferry.dialects import denials
from cableferry.dialects.endpoint import Asking, Dialect, Headers, Rendered
from cableferry.dialects.s3 import buckets, multipart, objects
from cableferry.wire.s3 import PREFIX, codes


def _demand_nothing(headers: Headers) -> None:
    """What a signature needs is asked for where it is checked."""


def render(refusal: Refusal, asking: Asking) -> Rendered:
    code = codes.of(refusal, int(denials.status_of(refusal)))
    status = codes.STATUSES.get(code)
    return Rendered(codes.document(code, refusal, asking.path, asking.trace_id), codes.TYPE.encode(), status)


DIALECT = Dialect(
    name="s3",
    prefix=PREFIX,
    endpoints=(*buckets.ENDPOINTS, *objects.ENDPOINTS, *multipart.ENDPOINTS),
    check_headers=_demand_nothing,
    render=render,
    trace_header=b"x-amz-request-id",
    is_described=False,
)
