"""A real server process with its gateway, and the people and artifacts that the tests of it need."""

import contextlib
import itertools
import json
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import boto3
from botocore.config import Config

from cableferry.core.access import Caller, Claimant, Person, Role
from cableferry.core.accounts import AccessKey
from cableferry.core.artifacts import Declared, Draft, Examined, Outcome
from cableferry.engine import access_keys, artifacts, users
from cableferry.engine.access_keys import Issued, Wanted
from cableferry.server import authenticate
from cableferry.server.settings import DatabaseSection, Settings
from cableferry.server.vault import Vault
from cableferry.store.tx import Store
from cableferry.testing import processes, stores

SECONDS = 20
LIMIT = 32 * 1024 * 1024
BUCKET = "artifacts"
_numbers = itertools.count(1)


class Gateway(NamedTuple):
    """Where the server listens, and the database that it works on: what a test does there, another process did."""

    port: int
    folder: Path
    store: Store
    vault: Vault

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/s3"

    def person(self, role: Role = Role.EDITOR) -> Person:
        """A new user."""
        name = f"user-{next(_numbers)}-{role.name.lower()}"
        self.store.write(lambda tx: users.create(tx, name, role, None))
        return Person(name, role)

    def key(self, person: Person, *, may_write: bool = True, seconds: int | None = None) -> Issued:
        return self._issue(person, Wanted(None, may_write), seconds)

    def worker_key(self, worker: str, *, may_write: bool = True) -> Issued:
        return self._issue(Person("operator", Role.OWNER), Wanted(worker, may_write), None)

    def _issue(self, person: Person, wanted: Wanted, seconds: int | None) -> Issued:
        def issue(tx: Any) -> Issued:
            ends = None if seconds is None else tx.now + timedelta(seconds=seconds)
            asked = Wanted(wanted.worker, wanted.may_write, wanted.label, ends)
            return access_keys.grant(tx, self.vault.seal, person, asked)

        return self.store.write(issue)

    def revoke(self, issued: Issued) -> None:
        owner = Person("operator", Role.OWNER)
        self.store.write(lambda tx: access_keys.revoke(tx, owner, issued.key.id))

    def artifact(self, owner: Caller, name: str | None = None) -> str:
        """A new artifact that takes files."""
        draft = Draft(name=name, created_by=owner.actor)
        return self.store.write(lambda tx: artifacts.create(tx, draft)).id

    def commit(self, id: str) -> None:
        seen = self.store.read(lambda tx: artifacts.get(tx, id))
        examined = Examined(seen.revision, Outcome())
        self.store.write(lambda tx: artifacts.commit(tx, id, Person("x", Role.OWNER), Declared(), examined))

    def boto(self, issued: Issued | None, **config: Any) -> Any:
        """The AWS SDK as its documentation says."""
        return boto3.client(
            "s3",
            endpoint_url=self.address,
            aws_access_key_id=issued.key.id if issued else None,
            aws_secret_access_key=issued.secret if issued else None,
            region_name="us-east-1",
            config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}, **config),
        )

    def said(self, trace: str) -> dict[str, Any]:
        """The server's log line of a request."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            for line in self.answers():
                if line["trace"] == trace:
                    return line
        raise LookupError(trace)

    def answers(self) -> list[dict[str, Any]]:
        """The log line of every request to the gateway, in order."""
        said = [line for log in self.folder.glob("server-*.log") for line in log.read_text().splitlines()]
        lines = [json.loads(line) for line in said if line.startswith("{") and line.endswith("}")]
        return [line for line in lines if str(line.get("route", "")).startswith("/s3")]


class Desk(NamedTuple):
    """A user with a key, a client that signs with it, and an open artifact of theirs."""

    gateway: Gateway
    person: Person
    issued: Issued
    boto: Any
    id: str

    def key(self, path: str) -> str:
        return f"{self.id}/{path}"

    def put(self, path: str, content: bytes, **more: Any) -> dict[str, Any]:
        return dict(self.boto.put_object(Bucket=BUCKET, Key=self.key(path), Body=content, **more))

    def get(self, path: str, **more: Any) -> bytes:
        content: bytes = self.boto.get_object(Bucket=BUCKET, Key=self.key(path), **more)["Body"].read()
        return content


def desk(gateway: Gateway) -> Desk:
    person = gateway.person()
    issued = gateway.key(person)
    return Desk(gateway, person, issued, gateway.boto(issued), gateway.artifact(person))


def worker(name: str) -> Claimant:
    return Claimant(name, "credential")


@contextlib.contextmanager
def serving(folder: Path, url: str | None = None) -> Iterator[Gateway]:
    """On SQLite, unless a url says where else."""
    settings = Settings(database=DatabaseSection(data_dir=folder, url=url))
    told = {"CABLEFERRY_ARTIFACTS__UPLOAD_LIMIT_BYTES": str(LIMIT)} | ({"CABLEFERRY_DATABASE__URL": url} if url else {})
    with processes.running(folder, settings=told) as process, stores.opened(settings.database_url) as store:
        gateway = Gateway(process.port, folder, store, authenticate.open_vault(settings))
        gateway.person(Role.OWNER)
        yield gateway


def keys_of(tx: Any, person: Person) -> list[AccessKey]:
    return access_keys.find(tx, person, None, None)
