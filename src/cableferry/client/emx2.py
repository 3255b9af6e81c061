"""The EMX2 HPC protocol as a Python client."""

import time
from collections.abc import Callable, Iterator

import msgspec

from cableferry.client import answers, clock, verbs
from cableferry.client.answers import Credential, Job, JobList, Transition, Worker
from cableferry.client.artifacts import Artifacts
from cableferry.client.caller import Caller
from cableferry.client.http import Answered, Connection, untold
from cableferry.client.logs import Logs
from cableferry.client.patience import Patience
from cableferry.client.schemes import Scheme
from cableferry.client.verbs import Verbs
from cableferry.wire.emx2 import PREFIX, bodies

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
        self._ask = Verbs(caller, PREFIX)
        self.artifacts = Artifacts(self._ask)
        self.logs = Logs(self._ask)

    def close(self) -> None:
        self._ask.close()

    @property
    def base_url(self) -> str:
        return self._ask.base_url

    def speak_for(self, session: str | None) -> None:
        """From now on, every call belongs to a worker's session."""
        self._ask.session = session

    def skew_seconds(self) -> float | None:
        """How far the server's clock is ahead of ours, by the date it puts on its health; None if it puts none."""
        return clock.skew_seconds(self._ask.get("/health"))

    # workers

    def register(self, body: bodies.RegisterBody) -> Worker:
        return verbs.read(self._ask.tell("/workers/register", body), Worker)

    def heartbeat(self, worker_id: str) -> None:
        self._ask.tell(f"/workers/{verbs.part(worker_id)}/heartbeat")

    def worker(self, worker_id: str) -> Worker:
        return verbs.read(self._ask.get(f"/workers/{verbs.part(worker_id)}"), Worker)

    def workers(self) -> list[Worker]:
        return verbs.read(self._ask.get("/workers"), answers.WorkerList).items

    def delete_worker(self, worker_id: str) -> None:
        self._ask.delete(f"/workers/{verbs.part(worker_id)}")

    def sync(self, worker_id: str, body: bodies.SyncBody) -> answers.Sync:
        """A lost answer may have held new jobs, so a cycle that claims any has a key."""
        send = self._ask.post if body.claim else self._ask.tell
        return verbs.read(send(f"/workers/{verbs.part(worker_id)}/sync", body), answers.Sync)

    # jobs

    def page(self, wanted: Filter, limit: int = PAGE, offset: int = 0, wait: int = 0) -> JobList:
        fields = msgspec.structs.asdict(wanted) | {"limit": limit, "offset": offset or None}
        return verbs.read(self._ask.get("/jobs" + verbs.query(fields), wait), JobList)

    def poll(self, wanted: Filter) -> list[Job]:
        """The first page, asked for as the oldest servers understand it."""
        return verbs.read(self._ask.get("/jobs" + verbs.query(msgspec.structs.asdict(wanted))), JobList).items

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
        return verbs.read(self._ask.post("/jobs", body, key), Job)

    def job(self, id: str, wait: int = 0, known: int | None = None) -> Job | None:
        """The job, or None when it still has the known revision after the wait."""
        headers = {} if known is None else {"If-None-Match": f'"{known}"'}
        reply = self._ask.get(f"/jobs/{verbs.part(id)}", wait, headers)
        return None if reply.status == 304 else verbs.read(reply, Job)

    def claim(self, id: str, worker_id: str) -> Job:
        return verbs.read(self._ask.post(f"/jobs/{verbs.part(id)}/claim", bodies.ClaimBody(worker_id)), Job)

    def claim_many(self, worker_id: str, limit: int) -> list[Job]:
        return verbs.read(
            self._ask.post("/jobs/claim", bodies.ClaimManyBody(worker_id, limit)), answers.ClaimedList
        ).items

    def transition(self, id: str, body: bodies.TransitionBody) -> Job:
        return verbs.read(self._ask.post(f"/jobs/{verbs.part(id)}/transition", body), Job)

    def complete(self, id: str, body: bodies.TransitionBody) -> Job:
        return verbs.read(self._ask.post(f"/jobs/{verbs.part(id)}/complete", body), Job)

    def cancel(self, id: str, detail: str | None = None) -> Job:
        return verbs.read(self._ask.post(f"/jobs/{verbs.part(id)}/cancel", bodies.CancelBody(detail=detail)), Job)

    def delete(self, id: str) -> None:
        self._ask.delete(f"/jobs/{verbs.part(id)}")

    def transitions(self, id: str, after: int | None = None, wait: int = 0) -> list[Transition]:
        query = verbs.query({"after": after})
        return verbs.read(
            self._ask.get(f"/jobs/{verbs.part(id)}/transitions{query}", wait), answers.TransitionList
        ).items

    def explain(self, id: str) -> answers.Explanation:
        return verbs.read(self._ask.get(f"/jobs/{verbs.part(id)}/explain"), answers.Explanation)

    # credentials

    def issue_credential(self, worker_id: str, body: Credentials) -> Credential:
        return verbs.read(self._ask.post(f"/workers/{verbs.part(worker_id)}/credentials/issue", body), Credential)

    def rotate_credential(self, worker_id: str, body: Credentials) -> Credential:
        return verbs.read(self._ask.post(f"/workers/{verbs.part(worker_id)}/credentials/rotate", body), Credential)

    def revoke_credential(self, worker_id: str, id: str) -> Credential:
        return verbs.read(
            self._ask.post(f"/workers/{verbs.part(worker_id)}/credentials/{verbs.part(id)}/revoke"), Credential
        )

    def credentials(self, worker_id: str) -> list[Credential]:
        return verbs.read(self._ask.get(f"/workers/{verbs.part(worker_id)}/credentials"), answers.CredentialList).items


def connect(
    url: str,
    scheme: Scheme,
    patience: Patience | None = None,
    pause: Callable[[float], object] = time.sleep,
    told: Callable[[Answered], object] = untold,
) -> Emx2:
    """A client of the server at an address; whoever counts is `told` of every answer."""
    return Emx2(Caller(Connection(url, told=told), scheme, patience, pause))
