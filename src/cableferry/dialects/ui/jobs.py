"""Jobs for people who look on: lists with the newest first, and feeds that tell as soon as something changes."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.core import searches
from cableferry.core.access import Need
from cableferry.core.errors import Invalid
from cableferry.core.jobs import Job, Transition
from cableferry.core.policy import Rules
from cableferry.core.searches import Match, Search
from cableferry.dialects import contracts
from cableferry.dialects.endpoint import Answer, Call, Course, Endpoint, Event, Feed, Tidings
from cableferry.dialects.ui.desk import desk
from cableferry.engine import artifacts, browsing, jobs, overviews, queue
from cableferry.engine import explain as explaining
from cableferry.store.tx import Tx
from cableferry.wire import texts
from cableferry.wire.emx2 import bodies, remarks, words
from cableferry.wire.ui import PREFIX
from cableferry.wire.ui import jobs as wire
from cableferry.wire.ui.overviews import points

ORDER = "created_at"
# of a job that reports all the time, every move is told and only the latest of the reports between them
REPORTS_TOLD = 200

Text = Annotated[str, Meta(max_length=255, pattern=texts.NO_NUL)]
Cursor = Annotated[str, Meta(max_length=searches.LONGEST_CURSOR)]


class JobsQuery(msgspec.Struct, frozen=True):
    """Which jobs, `status` being one or several with commas between; `older` and `newer` are cursors of a page.

    `search` is part of an id, a name, a number of Slurm's or what was last said of a job, in small or large letters.
    Each contract has its own jobs; without a word they are those of the usual one.
    """

    contract: contracts.Name | None = None
    status: Text | None = None
    processor: Text | None = None
    profile: Text | None = None
    worker_id: Text | None = None
    submit_user: Text | None = None
    slurm_job_id: Text | None = None
    search: Text | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    older: Cursor | None = None
    newer: Cursor | None = None

    @property
    def matches(self) -> Mapping[str, Match]:
        named = ("processor", "profile", "worker_id", "submit_user", "slurm_job_id")
        asked = {name: value for name in named if (value := getattr(self, name))}
        found = {name: Match(equals=(value,)) for name, value in asked.items()}
        states = tuple(words.state(word) for word in (self.status or "").split(",") if word)
        return found | ({"status": Match(equals=states)} if states else {})


class HistoryQuery(msgspec.Struct, frozen=True):
    """How far back, and of which contract's jobs."""

    hours: Annotated[int, Meta(ge=1, le=168)] = 24
    contract: contracts.Name | None = None


class ForecastQuery(msgspec.Struct, frozen=True):
    """The job that is thought of."""

    processor: bodies.Name
    profile: Text | None = None
    priority: Annotated[int, Meta(ge=-1000, le=1000)] = 0


def find(tx: Tx, call: Call) -> wire.JobPage:
    query: JobsQuery = call.query
    if query.older and query.newer:
        raise Invalid("older and newer lead apart: give one of them")
    served = desk(call).contracts
    rules = contracts.chosen(served, query.contract)
    counted = Counter[str]()
    for tally in queue.tallies(tx, rules.pool, query.processor or None, query.profile or None):
        counted[words.WORDS[tally.state]] += tally.jobs
    items, older, newer = _page(tx, rules, query)
    counts = {word: counted[word] for word in words.STATES}
    searched = browsing.MOST_SEARCHED if query.search and sum(counts.values()) > browsing.MOST_SEARCHED else None
    return wire.JobPage([wire.row(job) for job in items], older, newer, counts, list(served), searched)


def _page(tx: Tx, rules: Rules, query: JobsQuery) -> tuple[list[Job], str | None, str | None]:
    """The jobs, and the cursors of the pages beside them; a newest page that is not full is the first page."""
    if query.newer:
        found, more = _look(tx, rules, query, query.newer, is_descending=False)
        if more:
            return [job for job, _ in reversed(found)], found[0][1], found[-1][1]
    found, more = _look(tx, rules, query, query.older, is_descending=True)
    older = found[-1][1] if more else None
    return [job for job, _ in found], older, found[0][1] if query.older and found else None


def _look(
    tx: Tx, rules: Rules, query: JobsQuery, cursor: str | None, *, is_descending: bool
) -> tuple[list[tuple[Job, str]], bool]:
    """Up to `limit` jobs with their cursors, and whether there are more that way."""
    behind = None if cursor is None else browsing.behind(browsing.JOBS, ORDER, cursor)
    wanted = Search(query.matches, ORDER, is_descending, query.limit + 1, 0, behind, query.search or None)
    found = browsing.find(tx, browsing.JOBS, rules.pool, wanted)
    told = [(each.value, searches.cursor(ORDER, each.place)) for each in found[: query.limit]]
    return told, len(found) > query.limit


def get(tx: Tx, call: Call) -> wire.JobNow:
    job_id, served = call.path["job_id"], desk(call).contracts
    job, contract = jobs.find(tx, served, job_id)
    rules = served[contract]
    why = explaining.job(tx, rules, job_id, remarks.waiting)
    status = words.WORDS[job.state]
    history = _worth_telling(jobs.history(tx, rules, job_id))
    return wire.JobNow(
        bodies.job(job, artifacts.named(tx, [job])),
        [bodies.transition(job_id, f"{job_id}/{each.seq}", each) for each in history],
        bodies.ExplainBody(job_id, status, why.code, why.sentence, why.facts, {}),
        contract,
    )


def _worth_telling(history: Sequence[Transition]) -> list[Transition]:
    late = len(history) - REPORTS_TOLD
    return [each for place, each in enumerate(history) if each.old is not each.new or place >= late]


def history(tx: Tx, call: Call) -> wire.JobsThen:
    query: HistoryQuery = call.query
    rules = contracts.chosen(desk(call).contracts, query.contract)
    samples, step = overviews.history(tx, rules, timedelta(hours=query.hours))
    told = [(each.at, words.WORDS[each.state], each.jobs) for each in samples]
    return wire.JobsThen(points(told), int(step.total_seconds()))


def forecast(tx: Tx, call: Call) -> wire.Forecast:
    query: ForecastQuery = call.query
    why = explaining.forecast(tx, desk(call).rules, (query.processor, query.profile or None), query.priority)
    return wire.Forecast(why.code, why.sentence, why.facts)


def follow_list(tx: Tx, call: Call) -> Course:
    find(tx, call)
    return _course(call)


def follow(tx: Tx, call: Call) -> Course | Answer:
    """One that has seen the end of a job need not come back."""
    job, _ = jobs.find(tx, desk(call).contracts, call.path["job_id"])
    return Answer(None, status=204) if job.is_final and b"last-event-id" in call.headers else _course(call)


def _course(call: Call) -> Course:
    return Course(call.headers.get(b"last-event-id", b"").decode("latin-1")[:64])


def _list_goes_on(tx: Tx, call: Call, cursor: str) -> Tidings:
    return _tidings("jobs", find(tx, call), cursor)


def _goes_on(tx: Tx, call: Call, cursor: str) -> Tidings:
    now = get(tx, call)
    return _tidings("job", now, cursor, is_over=words.MOVES.is_final(words.state(now.job.status)))


def _tidings(name: str, body: object, cursor: str, *, is_over: bool = False) -> Tidings:
    """The whole picture again if it is another than the client has: its id is a digest of what is in it."""
    data = msgspec.json.encode(body)
    digest = hashlib.blake2b(data, digest_size=12).hexdigest()
    events = () if digest == cursor else (Event(name, digest, data),)
    return Tidings((*events, *(Event("end", digest, b"{}") for _ in range(is_over))), digest, is_over)


def _list_topics(call: Call) -> tuple[str, ...]:
    return ("job:*",)


def _topics(call: Call) -> tuple[str, ...]:
    return (f"job:{call.path['job_id']}",)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", f"{PREFIX}/jobs", find, Need.READ, "List jobs, the newest first",
        answer=wire.JobPage, query=JobsQuery, needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", f"{PREFIX}/jobs/events", follow_list, Need.READ, "Follow a list of jobs as server-sent events",
        answer=Course, query=JobsQuery, needs_protocol_headers=False, feed=Feed(_list_topics, _list_goes_on),
    ),
    Endpoint(
        "GET", f"{PREFIX}/jobs/history", history, Need.READ, "Show how many jobs were in each status over time",
        answer=wire.JobsThen, query=HistoryQuery, needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", f"{PREFIX}/jobs/forecast", forecast, Need.READ, "Explain where a job would be if it was submitted now",
        answer=wire.Forecast, query=ForecastQuery, needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", f"{PREFIX}/jobs/{{job_id}}", get, Need.READ, "Show a job with its history and an explanation",
        answer=wire.JobNow, refusals=(404,), needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", f"{PREFIX}/jobs/{{job_id}}/events", follow, Need.READ, "Follow a job as server-sent events",
        answer=Course, refusals=(404,), needs_protocol_headers=False, feed=Feed(_topics, _goes_on),
    ),
)  # fmt: skip
