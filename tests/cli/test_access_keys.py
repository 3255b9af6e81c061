"""Access keys from the server's own machine: shown once, good for S3 clients, over when they are revoked."""

import json
import stat
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.cli.ferry import ferry, serving


def _data(folder: Path) -> tuple[str, str]:
    return "--data-dir", str(folder / "data")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    ferry(tmp_path, "users", "create", "ada", "--no-password", *_data(tmp_path))
    return tmp_path


def test_a_key_opens_the_gateway_until_it_is_revoked(home: Path) -> None:
    file = home / "secret"
    issue = ("access-keys", "issue", "ada", "--may-write", "--label", "laptop", "--expires-in-days", "1")
    issued = ferry(home, *issue, "--secret-file", str(file), "--json", *_data(home))
    key = json.loads(issued.out)
    with serving(home / "data", is_open=False) as server:
        client = boto3.client(
            "s3",
            endpoint_url=f"{server}/s3",
            aws_access_key_id=key["id"],
            aws_secret_access_key=file.read_text().strip(),
            region_name="us-east-1",
            config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
        )
        buckets = [bucket["Name"] for bucket in client.list_buckets()["Buckets"]]
        revoked = ferry(home, "access-keys", "revoke", key["id"], *_data(home))
        with pytest.raises(ClientError) as refused:
            client.list_buckets()

    assert (["artifacts", "names"], "InvalidAccessKeyId") == (buckets, refused.value.response["Error"]["Code"])
    assert f"access key {key['id']} of ada is revoked\n" == revoked.out
    assert file.read_text().strip() not in issued.out + issued.err
    assert 0o600 == stat.S_IMODE(file.stat().st_mode)


def test_keys_are_listed_without_their_secrets(home: Path) -> None:
    issued = ferry(home, "access-keys", "issue", "--worker", "head-1", *_data(home))
    secret = issued.out.split()[-1]
    listed = ferry(home, "access-keys", "list", "--worker", "head-1", *_data(home))
    as_json = ferry(home, "access-keys", "list", "ada", "--json", *_data(home))

    assert len(secret) == 40
    assert secret not in listed.out
    assert "WRITES" in listed.out
    assert [] == json.loads(as_json.out)["items"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("issue",), 2),
        (("issue", "ada", "--worker", "head-1"), 2),
        (("issue", "bob"), 3),
        (("list", "bob"), 3),
        (("revoke", "CF00"), 3),
    ],
)
def test_a_key_of_nobody_is_refused(home: Path, arguments: tuple[str, ...], code: int) -> None:
    assert code == ferry(home, "access-keys", *arguments, *_data(home)).code
