"""The EMX2 HPC protocol as a Python client."""

import time
import uuid
from collections.abc import Callable, Iterator
from typing import TypeVar
from urllib.parse import quote, urlencode

import msgspec

from cableferry.client import answers
from cableferry.client.answers import Credential, Job, JobList, Transition, Worker
from cableferry.client.caller import Ask, Caller
from cableferry.client.errors import BadAnswer, NotFound
from cableferry.client.http import Connection, Reply
from cableferry.client.patience import Patience
from cableferry.client.schemes import Scheme
from cableferry.wire.emx2 import PREFIX, bodies

A = TypeVar("A")
PAGE = 100


class Filter(msgspec.Struct, frozen=True):
    """Which jobs of a list; no status means the server's default, PENDING."""

    status: str | None = None
    processor: str | None = None
    profile: str | None = None


class Credentials(msgspec.Struct, frozen=True, omit_defaults=True):
    """What issuing or rotating asks for."""

    label: str | None = None
    expires_at: str | None = None
    grace_seconds: int | None = None


class Emx2:
    """One server; every method is one call, repeated until it is answered or patience ends."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.session: str | None = None

    def close(self) -> None:
        self._caller.connection.close()

    @property
    def base_url(self) -> str:
        return self._caller.connection.base_url

    # workers

    def register(self, body: bodies.RegisterBody) -> Worker:
        return _read(self._post("/workers/register", body), Worker)

    def heartbeat(self, worker_id: str) -> None:
        self._post(f"/workers/{_part(worker_id)}/heartbeat")

    def worker(self, worker_id: str) -> Worker:
        return _read(self._get(f"/workers/{_part(worker_id)}"), Worker)

    def workers(self) -> list[Worker]:
        return _read(self._get("/workers"), answers.WorkerList).items

    def delete_worker(self, worker_id: str) -> None:
        self._delete(f"/workers/{_part(worker_id)}")

    def sync(self, worker_id: str, body: bodies.SyncBody) -> answers.Sync:
        return _read(self._post(f"/workers/{_part(worker_id)}/sync", body), answers.Sync)

    # jobs

    def page(self, wanted: Filter, limit: int = PAGE, offset: int = 0, wait: int = 0) -> JobList:
        fields = msgspec.structs.asdict(wanted) | {"limit": limit, "offset": offset or None}
        return _read(self._get("/jobs" + _query(fields), wait), JobList)

    def poll(self, wanted: Filter) -> list[Job]:
        """The first page, asked for as the oldest servers understand it."""
        return _read(self._get("/jobs" + _query(msgspec.structs.asdict(wanted))), JobList).items

    def jobs(self, wanted: Filter, most: int | None = None) -> Iterator[Job]:
        """All jobs of a list, page by page, or the first ones."""
        seen = 0
        while most is None or seen < most:
            page = self.page(wanted, PAGE if most is None else min(PAGE, most - seen), seen)
            yield from page.items
            seen += len(page.items)
            if not page.items or seen >= page.total_count:
                return

    def create(self, body: bodies.CreateBody, key: str | None = None) -> Job:
        return _read(self._post("/jobs", body, key), Job)

    def job(self, id: str, wait: int = 0, known: int | None = None) -> Job | None:
        """The job, or None when it still has the known revision after the wait."""
        headers = {} if known is None else {"If-None-Match": f'"{known}"'}
        reply = self._get(f"/jobs/{_part(id)}", wait, headers)
        return None if reply.status == 304 else _read(reply, Job)

    def claim(self, id: str, worker_id: str) -> Job:
        return _read(self._post(f"/jobs/{_part(id)}/claim", bodies.ClaimBody(worker_id)), Job)

    def claim_many(self, worker_id: str, limit: int) -> list[Job]:
        return _read(self._post("/jobs/claim", bodies.ClaimManyBody(worker_id, limit)), answers.ClaimedList).items

    def transition(self, id: str, body: bodies.TransitionBody) -> Job:
        return _read(self._post(f"/jobs/{_part(id)}/transition", body), Job)

    def complete(self, id: str, body: bodies.TransitionBody) -> Job:
        return _read(self._post(f"/jobs/{_part(id)}/complete", body), Job)

    def cancel(self, id: str, detail: str | None = None) -> Job:
        return _read(self._post(f"/jobs/{_part(id)}/cancel", bodies.CancelBody(detail=detail)), Job)

    def delete(self, id: str) -> None:
        self._delete(f"/jobs/{_part(id)}")

    def transitions(self, id: str, after: int | None = None, wait: int = 0) -> list[Transition]:
        query = _query({"after": after})
        return _read(self._get(f"/jobs/{_part(id)}/transitions{query}", wait), answers.TransitionList).items

    def explain(self, id: str) -> answers.Explanation:
        return _read(self._get(f"/jobs/{_part(id)}/explain"), answers.Explanation)

    # credentials

    def issue_credential(self, worker_id: str, body: Credentials) -> Credential:
        return _read(self._post(f"/workers/{_part(worker_id)}/credentials/issue", body), Credential)

    def rotate_credential(self, worker_id: str, body: Credentials) -> Credential:
        return _read(self._post(f"/workers/{_part(worker_id)}/credentials/rotate", body), Credential)

    def revoke_credential(self, worker_id: str, id: str) -> Credential:
        return _read(self._post(f"/workers/{_part(worker_id)}/credentials/{_part(id)}/revoke"), Credential)

    def credentials(self, worker_id: str) -> list[Credential]:
        return _read(self._get(f"/workers/{_part(worker_id)}/credentials"), answers.CredentialList).items

    # parts of a call

    def _get(self, path: str, wait: int = 0, headers: dict[str, str] | None = None) -> Reply:
        asked = {"Prefer": f"wait={wait}"} if wait else {}
        return self._call(Ask("GET", PREFIX + path, headers={**asked, **(headers or {})}, wait_seconds=wait))

    def _post(self, path: str, body: msgspec.Struct | None = None, key: str | None = None) -> Reply:
        content = b"" if body is None else msgspec.json.encode(_said(body))
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        return self._call(Ask("POST", PREFIX + path, content, headers))

    def _delete(self, path: str) -> None:
        """A repeated try may find it gone: the first one did it and its answer was lost."""
        try:
            self._call(Ask("DELETE", PREFIX + path))
        except NotFound as refusal:
            if not refusal.is_repeated:
                raise

    def _call(self, ask: Ask) -> Reply:
        if self.session is not None:
            ask = msgspec.structs.replace(ask, headers={**ask.headers, "X-Worker-Session": self.session})
        return self._caller.call(ask)


def connect(
    url: str,
    scheme: Scheme,
    patience: Patience | None = None,
    pause: Callable[[float], object] = time.sleep,
) -> Emx2:
    """A client of the server at an address."""
    return Emx2(Caller(Connection(url), scheme, patience, pause))


def _part(text: str) -> str:
    """One part of a path, whatever characters it holds."""
    return quote(text, safe="")


def _query(fields: dict[str, str | int | None]) -> str:
    given = {name: value for name, value in fields.items() if value is not None}
    return f"?{urlencode(given, quote_via=quote)}" if given else ""


def _said(body: msgspec.Struct) -> dict[str, object]:
    """Only what is said: not every server takes null for an absent field."""
    return {name: value for name, value in msgspec.structs.asdict(body).items() if value is not None}


def _read(reply: Reply, kind: type[A]) -> A:
    try:
        return msgspec.json.decode(reply.body, type=kind, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadAnswer(f"the server's answer ({reply.status}) is not one of this protocol: {error}") from error
