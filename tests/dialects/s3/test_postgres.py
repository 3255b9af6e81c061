"""The gateway on PostgreSQL: the whole life of some objects, as the AWS SDK leads it."""

from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from cableferry.testing import stores
from cableferry.testing.postgres import Cluster
from tests.dialects.s3 import gateway as gateways
from tests.dialects.s3.gateway import BUCKET, Desk
from tests.dialects.s3.test_multipart import PARTS, Upload
from tests.dialects.s3.test_objects import refusal

pytestmark = pytest.mark.postgres
ODD = ["a b/é", "a b/e\u0301", "A", "a", "#", "z/1", "z/2"]


def test_objects_live_on_postgres_as_they_do_elsewhere(postgres_cluster: Cluster, tmp_path: Path) -> None:
    with stores.database(postgres_cluster) as url, gateways.serving(tmp_path, url) as gateway:
        desk = gateways.desk(gateway)
        for path in ODD:
            desk.put(path, path.encode())
        upload = Upload(desk)
        upload.complete(upload.parts())
        desk.boto.copy_object(Bucket=BUCKET, Key=desk.key("copy"), CopySource=f"{BUCKET}/{desk.key('x')}")
        desk.boto.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": desk.key(path)} for path in ("x", "A")]})

        assert b"\1\1\2\2" == desk.get("copy", Range="bytes=99998-100001")
        assert sorted({*ODD, "copy"} - {"A"}, key=str.encode) == _listed(desk, PageSize=3)
        assert ["#", "a", "copy", "a b/", "z/"] == _listed(desk, "/", PageSize=2)
        assert len(b"".join(PARTS)) == desk.boto.head_object(Bucket=BUCKET, Key=desk.key("copy"))["ContentLength"]
        gateway.revoke(desk.issued)
        with pytest.raises(ClientError) as refused:
            desk.get("a")
        assert (403, "InvalidAccessKeyId") == refusal(refused.value)


def _listed(desk: Desk, delimiter: str = "", **paging: int) -> list[str]:
    """The keys of every page without their artifact, then what is folded."""
    pages = list(
        desk.boto.get_paginator("list_objects_v2").paginate(
            Bucket=BUCKET, Prefix=desk.key(""), Delimiter=delimiter, PaginationConfig=paging
        )
    )
    keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
    folded = [each["Prefix"] for page in pages for each in page.get("CommonPrefixes", [])]
    return [key.removeprefix(desk.key("")) for key in [*keys, *folded]]
