"""What container workers and their users ask, with a hundred jobs in the queue and with thousands."""

import contextlib
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench import load, multiply, report, seeding, servers, signed

SIZES = (100, 1_000, 5_000)
ROUNDS, EACH = 9, 90
PAUSE_SECONDS = 0.3
POLLERS = 8
WORKER = signed.Daemon("bench-0")
PAGE = "/jobs?limit=100"
LIMIT = 1.3
FLOOR = "echo (floor)"
KINDS = (FLOOR, "next-job", "job-status", "status", "jobs (a page)", "launch")
_CONFIG = {"config": {"experiment": {"name": "Bench", "run_name": "1"}, "steps": list(range(20))}}


class Sized(NamedTuple):
    """One server with so many jobs in its queue, and the rates of each kind of request in each round."""

    jobs: int
    server: servers.Server
    rates: dict[str, list[float]]

    def rate(self, kind: str) -> float:
        """Of the round that was least disturbed."""
        return max(self.rates[kind])


def main(sizes: Sequence[int] = SIZES, rounds: int = ROUNDS, each: int = EACH) -> None:
    with contextlib.ExitStack() as stack:
        all_sized = [stack.enter_context(_sized(size)) for size in sizes]
        # the first round only warms caches up and is not counted
        for number in range(rounds + 1):
            turn = number % len(all_sized)
            _round([*all_sized[turn:], *all_sized[:turn]], each, counts=number > 0)
        for sized in all_sized:
            _check_queue(sized)
        dispatched = _drain(all_sized[-1])
    few, many = all_sized[0], all_sized[-1]
    heads = ("requests a second", *(f"{report.count(sized.jobs)} queued" for sized in all_sized), "quotient")
    rows = [
        (kind, *(report.count(sized.rate(kind)) for sized in all_sized), f"{_quotient(few, many, kind):.2f}")
        for kind in KINDS
    ]
    report.table(f"The worker contract, {POLLERS} connections, best of {rounds} rounds", heads, rows)
    print("\na list without a limit sends every job, so its rate falls with their number and is not among the kinds:")
    print(f"{report.count(many.jobs)} jobs in {report.ms(dispatched.whole_list_seconds)}")
    print(f"{POLLERS} pollers took {report.count(dispatched.jobs)} jobs, each once, with 200 and 204 alone")
    kind = max(KINDS[1:], key=lambda kind: _quotient(few, many, kind))
    report.result("opeva", few.rate(kind), f"{kind}/s with the shortest queue", many.rate(kind), echo=few.rate(FLOOR))


@contextlib.contextmanager
def _sized(jobs: int) -> Iterator[Sized]:
    with servers.folder() as path:
        url, settings = servers.sqlite_url(path), {"CABLEFERRY_OPEVA__SHARED_DATA": str(path / "share")}
        with servers.running(url, path, settings) as server:
            _launch(server, 1)
        multiply.pending_jobs(url, jobs - 1)
        with servers.running(url, path, settings) as server:
            yield Sized(jobs, server, defaultdict(list))


def _round(all_sized: Sequence[Sized], each: int, *, counts: bool) -> None:
    """Take some jobs, lead them to their ends, ask about them, and launch as many anew.

    Every kind of request goes to one server after the other, each time another first, so that all have the same
    weather; the pause lets each bring its files up to date, which would else slow down the next.
    """
    taken: dict[int, list[str]] = {}
    for kind in KINDS:
        for sized in all_sized:
            time.sleep(PAUSE_SECONDS)
            run = _asked(kind, sized.server, taken.get(sized.jobs, []), each)
            if kind == "next-job":
                taken[sized.jobs] = [json.loads(body)["job_id"] for body in run.bodies()]
            if counts:
                sized.rates[kind].append(run.per_second)
    for sized in all_sized:
        _run(sized.server, [_say(job, "finished") for job in taken[sized.jobs]])


def _asked(kind: str, server: servers.Server, taken: Sequence[str], each: int) -> load.Run:
    match kind:
        case "next-job":
            return _run(server, [_poll() for _ in range(each)])
        case "job-status":
            return _run(server, [_say(job, "running") for job in taken])
        case "status":
            return _run(server, [WORKER.request("GET", f"/status/{job}") for job in taken])
        case "jobs (a page)":
            return _run(server, [WORKER.request("GET", PAGE) for _ in range(each)])
        case "launch":
            return _launch(server, each)
        case _:
            return _run(server, [WORKER.post("/bench/echo/transition", {"status": "STARTED"}) for _ in range(each)])


def _run(server: servers.Server, requests: Sequence[bytes]) -> load.Run:
    return seeding.run(server, requests, POLLERS)


def _launch(server: servers.Server, count: int) -> load.Run:
    return _run(server, [WORKER.request("POST", "/run-simulation", _CONFIG) for _ in range(count)])


def _poll() -> bytes:
    return WORKER.request("POST", "/api/agent/next-job", {"worker_id": WORKER.worker})


def _say(job: str, status: str) -> bytes:
    said = {"job_id": job, "status": status, "worker_id": WORKER.worker}
    return WORKER.request("POST", "/api/agent/job-status", said)


def _check_queue(sized: Sized) -> None:
    waiting = len(json.loads(_listed(sized, "/queue").bodies()[0]))
    if waiting != sized.jobs:
        raise RuntimeError(f"{sized.jobs} jobs must wait and {waiting} do")


def _listed(sized: Sized, path: str) -> load.Run:
    return _run(sized.server, [WORKER.request("GET", path)])


class Drained(NamedTuple):
    """How many jobs pollers took, and how long the list of all jobs took before that."""

    jobs: int
    whole_list_seconds: float


def _drain(sized: Sized) -> Drained:
    """Let pollers take everything at once: each job goes out once, and no other answer is ever given."""
    whole = _listed(sized, "/jobs").answers[0].seconds
    share = sized.jobs // POLLERS + 20
    polled = _run(sized.server, [_poll() for _ in range(share * POLLERS)])
    taken = [json.loads(timed.answer.body)["job_id"] for timed in polled.answers if timed.answer.status == 200]
    strange = {timed.answer.status for timed in polled.answers} - {200, 204}
    if strange or len(taken) != sized.jobs or len(set(taken)) != sized.jobs:
        raise RuntimeError(f"{len(taken)} answers held {len(set(taken))} of {sized.jobs} jobs; others were {strange}")
    return Drained(len(taken), whole)


def _quotient(few: Sized, many: Sized, kind: str) -> float:
    return few.rate(kind) / many.rate(kind)


if __name__ == "__main__":
    main()
