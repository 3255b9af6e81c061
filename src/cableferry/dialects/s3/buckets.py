"""The buckets: which there are, what lies in them, and many keys removed at once."""

from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.core import buckets as core
from cableferry.core.access import Need
from cableferry.core.buckets import Bucket, Contents, Wanted
from cableferry.core.errors import Conflict, Forbidden, Kind, Refusal
from cableferry.dialects import denials
from cableferry.dialects.endpoint import Answer, Call, Endpoint, Headers, Plain
from cableferry.dialects.s3 import checksums, gateway
from cableferry.dialects.s3.gateway import BUCKET, HOME
from cableferry.engine import buckets, objects
from cableferry.store.tx import EPOCH, Tx
from cableferry.wire.s3 import answers, codes, inputs
from cableferry.wire.s3.answers import Asked, Item, Removal
from cableferry.wire.s3.inputs import Deletion

MOST_KEYS = 1000
REGION = "us-east-1"
# what S3 can say of a bucket and this gateway cannot; asked for by a name in the query
OTHERS = (
    "accelerate", "acl", "analytics", "cors", "encryption", "intelligent-tiering", "inventory", "lifecycle", "logging",
    "metrics", "notification", "object-lock", "ownershipControls", "policy", "policyStatus", "publicAccessBlock",
    "replication", "requestPayment", "tagging", "versions", "website",
)  # fmt: skip

_Text = Annotated[str, Meta(max_length=core.LONGEST_KEY)]


class ListQuery(msgspec.Struct, frozen=True, rename="kebab"):
    """What ListObjects and ListObjectsV2 ask for."""

    list_type: str = "1"
    prefix: _Text = ""
    delimiter: _Text = ""
    marker: _Text = ""
    start_after: _Text = ""
    continuation_token: str | None = None
    max_keys: Annotated[int, Meta(ge=0)] = MOST_KEYS
    encoding_type: str | None = None
    fetch_owner: str = "false"


def every(tx: Tx, call: Call) -> Plain:
    return gateway.xml(answers.buckets((bucket, EPOCH) for bucket in Bucket))


def head(tx: Tx, call: Call) -> Answer:
    gateway.bucket(call)
    return Answer(None, headers={"x-amz-bucket-region": REGION})


def location(tx: Tx, call: Call) -> Plain:
    gateway.bucket(call)
    return gateway.xml(answers.location(REGION))


def versioning(tx: Tx, call: Call) -> Plain:
    gateway.bucket(call)
    return gateway.xml(answers.versioning())


def find(tx: Tx, call: Call) -> Plain:
    """One page of keys, in the form that the client knows."""
    query: ListQuery = call.query
    bucket, is_second = gateway.bucket(call), query.list_type == "2"
    start = query.start_after if is_second else query.marker
    after = start if not is_second or query.continuation_token is None else inputs.place(query.continuation_token)
    most = min(query.max_keys, MOST_KEYS)
    found = buckets.contents(tx, bucket, Wanted(query.prefix, query.delimiter, after, most))
    asked = Asked(
        bucket=bucket,
        prefix=query.prefix,
        delimiter=query.delimiter,
        most=most,
        start=start,
        token=query.continuation_token,
        is_encoded=gateway.is_encoded(query.encoding_type),
        shows_owner=query.fetch_owner == "true" or not is_second,
    )
    if not is_second:
        return gateway.xml(answers.contents_v1(asked, _page(found, found.last)))
    token = None if found.last is None else inputs.token(found.last)
    return gateway.xml(answers.contents(asked, _page(found, token)))


def remove(tx: Tx, call: Call) -> Plain:
    """Each key for itself: one that stays does not keep the others."""
    deletion: Deletion = call.body
    bucket = gateway.bucket(call)
    done = [_removed(tx, call, bucket, key) for key in deletion.keys]
    shown = [each for each in done if each.code is not None] if deletion.is_quiet else done
    return gateway.xml(answers.removed(shown))


def read_deletion(body: bytes, headers: Headers) -> Deletion:
    checksums.check_body(body, headers)
    return inputs.deletion(body)


def create(tx: Tx, call: Call) -> None:
    name = call.path["bucket"]
    if name not in set(Bucket):
        raise Forbidden(f"buckets cannot be made here: use {Bucket.ARTIFACTS}, with the id of an artifact in the key")
    raise Conflict(f"the bucket {name} is always there", Kind.NAME_TAKEN, code="BucketAlreadyOwnedByYou")


def refuse_to_end(tx: Tx, call: Call) -> None:
    raise Forbidden(f"the bucket {gateway.bucket(call)} is always there: delete artifacts instead")


def refuse_others(tx: Tx, call: Call) -> None:
    raise gateway.not_implemented("what the query asks of this bucket")


def _page(found: Contents, next: str | None) -> answers.Contents:
    items = [
        Item(each.key, each.size_bytes, core.etag(each.etag, each.sha256), each.modified_at) for each in found.items
    ]
    return answers.Contents(items, found.prefixes, next)


def _removed(tx: Tx, call: Call, bucket: Bucket, key: str) -> Removal:
    try:
        known = gateway.key_to_remove(bucket, key)
        if known is not None:
            objects.remove(tx, known, call.caller)
    except Refusal as refusal:
        return Removal(key, codes.of(refusal, int(denials.status_of(refusal))), refusal.detail)
    return Removal(key)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", HOME, every, Need.READ, "ListBuckets",
        answer=None, needs_protocol_headers=False, allows_slash=True,
    ),
    Endpoint(
        "HEAD", BUCKET, head, Need.READ, "HeadBucket",
        answer=None, refusals=(404,), needs_protocol_headers=False, allows_slash=True,
    ),
    Endpoint(
        "GET", BUCKET, find, Need.READ, "ListObjectsV2 and ListObjects",
        answer=None, query=ListQuery, refusals=(404,), needs_protocol_headers=False, allows_slash=True,
    ),
    Endpoint(
        "GET", BUCKET, location, Need.READ, "GetBucketLocation",
        answer=None, refusals=(404,), needs_protocol_headers=False, allows_slash=True, chosen_by=("location",),
    ),
    Endpoint(
        "GET", BUCKET, versioning, Need.READ, "GetBucketVersioning: there is none",
        answer=None, refusals=(404,), needs_protocol_headers=False, allows_slash=True, chosen_by=("versioning",),
    ),
    Endpoint(
        "GET", BUCKET, refuse_others, Need.READ, "What else S3 can tell of a bucket",
        answer=None, refusals=(501,), needs_protocol_headers=False, allows_slash=True, chosen_by=OTHERS,
    ),
    Endpoint(
        "PUT", BUCKET, create, Need.CREATE, "CreateBucket: the buckets are there already",
        answer=None, mode="write", refusals=(409,), needs_protocol_headers=False, allows_slash=True,
        reads=gateway.ignore_body,
    ),
    Endpoint(
        "PUT", BUCKET, refuse_others, Need.CREATE, "What else S3 can set of a bucket",
        answer=None, mode="write", refusals=(501,), needs_protocol_headers=False, allows_slash=True,
        reads=gateway.ignore_body, chosen_by=("versioning", *OTHERS),
    ),
    Endpoint(
        "DELETE", BUCKET, refuse_to_end, Need.CREATE, "DeleteBucket: they stay",
        answer=None, mode="write", needs_protocol_headers=False, allows_slash=True,
    ),
    Endpoint(
        "POST", BUCKET, remove, Need.CREATE, "DeleteObjects, before the commit",
        answer=None, mode="write", refusals=(404,), needs_protocol_headers=False, allows_slash=True,
        reads=read_deletion, chosen_by=("delete",),
    ),
)  # fmt: skip
