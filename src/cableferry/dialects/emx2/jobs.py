"""The job endpoints: each a line or two between the wire and the engine."""

from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.core import access, paging
from cableferry.core.access import Need
from cableferry.core.errors import Invalid
from cableferry.core.jobs import HELD, Draft, Filter, Job, Payload, Report, State
from cableferry.core.paging import Page
from cableferry.dialects.emx2 import speakers
from cableferry.dialects.emx2.contract import Contract
from cableferry.dialects.endpoint import Answer, Call, Endpoint, Waits
from cableferry.dialects.noting import by_people
from cableferry.engine import artifacts as results_of
from cableferry.engine import explain as explaining
from cableferry.engine import jobs, queue
from cableferry.store.tx import Tx
from cableferry.wire.emx2 import PREFIX, artifacts, bodies, inputs, remarks, words
from cableferry.wire.emx2.bodies import Link

ALL = "ALL"
READY = words.WORDS[State.READY]


class JobsQuery(msgspec.Struct, frozen=True):
    """Which jobs, and which page of them; `status=ALL` means every status."""

    status: Annotated[str, Meta(max_length=40, extra_json_schema={"enum": [*words.STATES, ALL]})] = READY
    processor: bodies.Name | None = None
    profile: bodies.Name | None = None
    limit: int | None = None
    offset: int | None = None

    @property
    def filter(self) -> Filter:
        state = None if self.status == ALL else words.state(self.status)
        return Filter(state, self.processor, self.profile)


class HistoryQuery(msgspec.Struct, frozen=True):
    """Only transitions behind this sequence number."""

    after: Annotated[int, Meta(ge=0, le=2**53)] = 0


def create(tx: Tx, call: Call) -> Answer:
    body: bodies.CreateBody = call.body
    kept = inputs.inputs(body.inputs)
    draft = Draft(
        processor=body.processor,
        profile=body.profile,
        priority=body.priority or 0,
        timeout_seconds=body.timeout_seconds,
        submit_user=access.submit_user(call.caller, body.submit_user),
        created_by=speakers.actor(call, call.worker),
        parameters=inputs.parameters(body.parameters),
        inputs=kept,
        uses=artifacts.references(kept),
    )
    job = jobs.create(tx, _contract(call).rules, draft)
    return Answer(bodies.job(job), headers={"Location": f"{PREFIX}/jobs/{job.id}", "ETag": _etag(job)})


def find(tx: Tx, call: Call) -> Answer:
    query: JobsQuery = call.query
    page = paging.page(query.limit, query.offset)
    listing = _listing(tx, call, page)
    results = results_of.named(tx, listing.jobs)
    items = [bodies.job(job, results) for job in listing.jobs]
    links = {"self": Link(f"{PREFIX}/jobs", "GET")}
    body = bodies.JobList(items, len(items), listing.total, max(page.limit, len(items)), page.offset, links)
    return Answer(body, headers={"X-Total-Count": str(listing.total)})


def _listing(tx: Tx, call: Call, page: Page) -> queue.Listing:
    """A worker that asks for no page of jobs in flight gets all of its own: so daemons of the field recover theirs."""
    query: JobsQuery = call.query
    pool, wanted = _contract(call).rules.pool, query.filter
    asks_for_no_page = query.limit is None and query.offset is None
    if asks_for_no_page and call.worker is not None and wanted.state in HELD:
        return queue.find_with_own(tx, pool, wanted, call.worker)
    return queue.find(tx, pool, wanted, page)


def get(tx: Tx, call: Call) -> Answer:
    return _shown(tx, jobs.get(tx, _contract(call).rules, call.path["job_id"]))


def claim(tx: Tx, call: Call) -> Answer:
    speaker = speakers.speaker(tx, call, call.body.worker_id)
    return _shown(tx, jobs.claim(tx, _contract(call).rules, call.path["job_id"], speaker))


def claim_many(tx: Tx, call: Call) -> bodies.ClaimManyAnswer:
    speaker = speakers.speaker(tx, call, call.body.worker_id)
    claimed = jobs.claim_many(tx, _contract(call).rules, speaker, call.body.limit)
    return bodies.ClaimManyAnswer([bodies.job(job) for job in claimed], len(claimed))


def transition(tx: Tx, call: Call) -> Answer:
    worker = speakers.worker_of(tx, call, call.body.worker_id)
    said = report(call.path["job_id"], call.body, worker, speakers.actor(call, worker))
    return _shown(tx, jobs.report(tx, _contract(call).rules, said))


def complete(tx: Tx, call: Call) -> Answer:
    state = words.state(call.body.status)
    if not words.MOVES.is_final(state):
        raise Invalid(f"status {call.body.status} does not end a job: use COMPLETED, FAILED or CANCELLED")
    return transition(tx, call)


def cancel(tx: Tx, call: Call) -> Answer:
    speakers.worker_of(tx, call, call.body.worker_id)
    return _shown(tx, jobs.cancel(tx, _contract(call).rules, call.path["job_id"], call.caller, call.body.detail))


def delete(tx: Tx, call: Call) -> None:
    jobs.delete(tx, _contract(call).rules, call.path["job_id"], call.caller)


def history(tx: Tx, call: Call) -> bodies.TransitionList:
    job_id, rules = call.path["job_id"], _contract(call).rules
    job = jobs.get(tx, rules, job_id)
    transitions = jobs.history(tx, rules, job_id, call.query.after)
    items = [bodies.transition(job_id, f"{job_id}/{each.seq}", each) for each in transitions]
    links = {"self": Link(f"{PREFIX}/jobs/{job_id}/transitions", "GET")}
    return bodies.TransitionList(items, len(items), words.WORDS[job.state], links)


def explain(tx: Tx, call: Call) -> bodies.ExplainBody:
    job_id, rules = call.path["job_id"], _contract(call).rules
    job = jobs.get(tx, rules, job_id)
    why = explaining.job(tx, rules, job_id, remarks.waiting)
    links = {"self": Link(f"{PREFIX}/jobs/{job_id}/explain", "GET"), "job": Link(f"{PREFIX}/jobs/{job_id}", "GET")}
    return bodies.ExplainBody(job_id, words.WORDS[job.state], why.code, why.sentence, why.facts, links)


def report(job_id: str, body: bodies.TransitionBody, worker: str | None, actor: str) -> Report:
    """A report on the wire as the engine takes it."""
    state = words.state(body.status)
    payload = Payload(
        worker,
        body.detail,
        body.slurm_job_id,
        body.output_artifact_id,
        body.log_artifact_id,
        body.phase,
        body.message,
        body.progress,
        remarks.packed(remarks.Remarks(body.usage, body.scheduler, body.requested)),
    )
    return Report(job_id, state, payload, actor, words.cause(state, body.detail, body.cause), body.epoch)


def _contract(call: Call) -> Contract:
    contract: Contract = call.service
    return contract


def _shown(tx: Tx, job: Job) -> Answer:
    return Answer(bodies.job(job, results_of.named(tx, [job])), headers={"ETag": _etag(job)})


def _etag(job: Job) -> str:
    return f'"{job.revision}"'


def _list_topics(call: Call) -> tuple[str, ...]:
    """Only waiting jobs are waited for: other lists are answered at once."""
    query: JobsQuery = call.query
    pool = _contract(call).rules.pool
    processor, profile = query.processor or "*", query.profile or "*"
    exact = f"ready:{pool}/{processor}/{profile}"
    if query.processor and query.profile:
        return (exact, f"ready:{pool}/{processor}/")
    return (exact,)


def _has_jobs(call: Call, body: bodies.JobList) -> bool:
    query: JobsQuery = call.query
    return bool(body.items) or query.status != READY


def _job_topics(call: Call) -> tuple[str, ...]:
    return (f"job:{call.path['job_id']}",)


def _has_news(call: Call, body: bodies.TransitionList) -> bool:
    """Nothing more comes of a job that is over."""
    return bool(body.items) or words.MOVES.is_final(words.state(body.status))


def _is_over(call: Call, body: bodies.JobBody) -> bool:
    return words.MOVES.is_final(words.state(body.status))


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", f"{PREFIX}/jobs", create, Need.CREATE, "Create a job",
        answer=bodies.JobBody, mode="write", is_brief=True, body=bodies.CreateBody, status=201,
    ),
    Endpoint(
        "GET", f"{PREFIX}/jobs", find, Need.READ, "List jobs; those that wait to be claimed when no status is given",
        answer=bodies.JobList, query=JobsQuery, waits=Waits(_list_topics, _has_jobs),
    ),
    Endpoint(
        "POST", f"{PREFIX}/jobs/claim", claim_many, Need.WORK, "Claim jobs over all that a worker offers",
        answer=bodies.ClaimManyAnswer, mode="write", body=bodies.ClaimManyBody, refusals=(409,),
        has_optional_body=True,
    ),
    Endpoint(
        "GET", f"{PREFIX}/jobs/{{job_id}}", get, Need.READ, "Show a job",
        answer=bodies.JobBody, refusals=(404,), waits=Waits(_job_topics, _is_over),
    ),
    Endpoint(
        "DELETE", f"{PREFIX}/jobs/{{job_id}}", by_people("job deleted", delete), Need.END,
        "Delete a job and its history",
        answer=None, mode="write", status=204, refusals=(404, 409),
    ),
    Endpoint(
        "POST", f"{PREFIX}/jobs/{{job_id}}/claim", claim, Need.WORK, "Claim a job",
        answer=bodies.JobBody, mode="write", is_brief=True, body=bodies.ClaimBody, refusals=(404, 409),
        has_optional_body=True,
    ),
    Endpoint(
        "POST", f"{PREFIX}/jobs/{{job_id}}/transition", transition, Need.WORK, "Report what became of a job",
        answer=bodies.JobBody, mode="write", is_brief=True, body=bodies.TransitionBody, refusals=(404, 409),
    ),
    Endpoint(
        "POST", f"{PREFIX}/jobs/{{job_id}}/complete", complete, Need.WORK, "Report how a job ended",
        answer=bodies.JobBody, mode="write", is_brief=True, body=bodies.TransitionBody, refusals=(404, 409),
    ),
    Endpoint(
        "POST", f"{PREFIX}/jobs/{{job_id}}/cancel", cancel, Need.END, "Cancel a job",
        answer=bodies.JobBody, mode="write", is_brief=True, body=bodies.CancelBody, refusals=(404, 409),
        has_optional_body=True,
    ),
    Endpoint(
        "GET", f"{PREFIX}/jobs/{{job_id}}/transitions", history, Need.READ, "Show a job's history",
        answer=bodies.TransitionList, query=HistoryQuery, refusals=(404,), waits=Waits(_job_topics, _has_news),
    ),
    Endpoint(
        "GET", f"{PREFIX}/jobs/{{job_id}}/explain", explain, Need.READ, "Say why a job is where it is",
        answer=bodies.ExplainBody, refusals=(404,),
    ),
)  # fmt: skip
