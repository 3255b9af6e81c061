"""What a worker offers, how much more it takes, and which of its daemons may speak for it."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core import workers
from cableferry.core.errors import Conflict, Kind
from cableferry.core.jobs import State
from cableferry.core.workers import Load, Offer, Session
from tests.core.specimens import NOW, a_job, a_session, a_worker, seconds

TTL = seconds(90)

FITS = [
    ("the very processor and profile", Offer("embed", "gpu"), "embed", "gpu", True),
    ("another profile", Offer("embed", "gpu"), "embed", "cpu", False),
    ("another processor", Offer("embed", "gpu"), "align", "gpu", False),
    ("a job without a profile", Offer("embed", "gpu"), "embed", None, True),
    ("an offer without a profile", Offer("embed"), "embed", "cpu", True),
    ("an offer without a profile of another processor", Offer("embed"), "align", "cpu", False),
    ("any profile", Offer("embed", "any"), "embed", "cpu", True),
    ("every profile", Offer("embed", "*"), "embed", "cpu", True),
    ("any processor", Offer("any", "gpu"), "align", "gpu", True),
    ("any processor but another profile", Offer("any", "gpu"), "align", "cpu", False),
    ("everything", Offer("*", "*"), "align", "cpu", True),
    ("everything and no profile", Offer("any", "any"), "align", None, True),
    ("the wildcard is the offer's, not the job's", Offer("embed", "gpu"), "any", "any", False),
]


@pytest.mark.parametrize(("offer", "processor", "profile", "expected"), [f[1:] for f in FITS], ids=[f[0] for f in FITS])
def test_an_offer_fits(offer: Offer, processor: str, profile: str | None, expected: bool) -> None:
    assert expected is workers.fits(offer, processor, profile)


@pytest.mark.parametrize(
    ("offer", "expected"),
    [
        (Offer("embed", "gpu"), False),
        (Offer("embed"), True),
        (Offer("embed", "any"), True),
        (Offer("*", "gpu"), True),
    ],
)
def test_an_offer_is_open_when_it_covers_what_it_does_not_name(offer: Offer, expected: bool) -> None:
    assert expected is workers.is_open(offer)


ROOMS = [
    ("no limit, no end", Offer("embed", "gpu"), [Load("embed", "gpu", 99)], None),
    ("an empty worker has all its room", Offer("embed", "gpu", 2), [], 2),
    ("what it holds takes room", Offer("embed", "gpu", 2), [Load("embed", "gpu", 1)], 1),
    ("a full worker has none", Offer("embed", "gpu", 2), [Load("embed", "gpu", 2)], 0),
    ("a worker over its limit has none", Offer("embed", "gpu", 2), [Load("embed", "gpu", 3)], 0),
    ("another kind takes no room", Offer("embed", "gpu", 2), [Load("align", "gpu", 2)], 2),
    ("a job without a profile takes room", Offer("embed", "gpu", 2), [Load("embed", None, 1)], 1),
    ("an open offer counts all it covers", Offer("*", "*", 5), [Load("embed", "gpu", 2), Load("align", None, 1)], 2),
    ("no job at all is a limit too", Offer("embed", "gpu", 0), [], 0),
]


@pytest.mark.parametrize(("offer", "loads", "expected"), [r[1:] for r in ROOMS], ids=[r[0] for r in ROOMS])
def test_the_room_of_an_offer(offer: Offer, loads: list[Load], expected: int | None) -> None:
    assert expected == workers.room(offer, loads)


@given(st.integers(0, 5), st.lists(st.integers(0, 5), max_size=4))
def test_room_and_load_never_exceed_the_limit_unless_the_load_does(most: int, counts: list[int]) -> None:
    loads = [Load("embed", "gpu", count) for count in counts]

    room = workers.room(Offer("embed", "gpu", most), loads)

    assert max(most, sum(counts)) == sum(counts) + (room or 0)


def test_a_worker_claims_what_it_offers_and_has_room_for() -> None:
    workers.check_claim(a_job(), a_worker("w1", Offer("embed", "gpu", 1)), [])


def test_a_worker_does_not_claim_what_it_does_not_offer() -> None:
    with pytest.raises(Conflict, match="does not have a registered capability for processor embed") as refused:
        workers.check_claim(a_job(), a_worker("w1", Offer("align", "gpu")), [])

    assert Kind.NOT_OFFERED is refused.value.kind


def test_a_job_without_a_profile_that_nobody_offers_is_named_as_such() -> None:
    with pytest.raises(Conflict, match=r"profile \(none\)"):
        workers.check_claim(a_job(profile=None), a_worker("w1", Offer("align")), [])


def test_a_worker_does_not_claim_beyond_its_limit() -> None:
    with pytest.raises(Conflict, match="max_concurrent_jobs") as refused:
        workers.check_claim(a_job(), a_worker("w1", Offer("embed", "gpu", 1)), [Load("embed", "gpu", 1)])

    assert Kind.NO_ROOM is refused.value.kind


def test_one_offer_with_room_is_enough() -> None:
    worker = a_worker("w1", Offer("embed", "gpu", 1), Offer("*", "*", 5))

    workers.check_claim(a_job(), worker, [Load("embed", "gpu", 1)])


def test_a_worker_that_is_drained_takes_no_job() -> None:
    workers.check_drained(a_worker())

    with pytest.raises(Conflict, match="w1 is being drained by user:ada") as refused:
        workers.check_drained(a_worker(drained_at=NOW, drained_by="user:ada"))

    assert Kind.DRAINED == refused.value.kind


def test_a_ready_job_is_handed_out() -> None:
    workers.check_ready(a_job())


UNREADY = [
    (State.CLAIMED, "already claimed by w1", Kind.ALREADY_CLAIMED),
    (State.RUNNING, "already claimed by w1", Kind.ALREADY_CLAIMED),
    (State.BLOCKED, "already claimed$", Kind.ALREADY_CLAIMED),
    (State.CANCELLED, "is over$", Kind.ALREADY_ENDED),
]


@pytest.mark.parametrize(("state", "sentence", "kind"), UNREADY)
def test_a_job_that_does_not_wait_is_not_handed_out(state: State, sentence: str, kind: Kind) -> None:
    with pytest.raises(Conflict, match=sentence) as refused:
        workers.check_ready(a_job(state))

    assert (kind, state) == (refused.value.kind, refused.value.facts["current_state"])


@pytest.mark.parametrize(("ago", "expected"), [(0, True), (300, True), (300.001, False)])
def test_a_worker_is_alive_until_it_has_been_silent_for_too_long(ago: float, expected: bool) -> None:
    assert expected is workers.is_alive(a_worker(), NOW + seconds(ago), seconds(300))


@pytest.mark.parametrize(
    ("held", "spoken"),
    [
        pytest.param(a_session(), "boot-0001", id="the daemon that holds it"),
        pytest.param(a_session(), None, id="a daemon that knows no sessions"),
        pytest.param(None, "boot-0001", id="a daemon under a worker that keeps none"),
    ],
)
def test_a_session_lets_through(held: Session | None, spoken: str | None) -> None:
    workers.check_session(a_worker(session=held), spoken)


HOSTS = [(a_session(), r"head-1 \(pid 4711\)"), (a_session(host=None, pid=None), "an unnamed host")]


@pytest.mark.parametrize(("session", "who"), HOSTS)
def test_a_daemon_whose_session_was_taken_over_is_told_by_whom(session: Session, who: str) -> None:
    with pytest.raises(Conflict, match=f"session boot-0000 of worker w1 was taken over by {who}") as refused:
        workers.check_session(a_worker(session=session), "boot-0000")

    assert Kind.SESSION_REVOKED is refused.value.kind


@pytest.mark.parametrize(
    ("held", "seen", "new", "now"),
    [
        pytest.param(None, None, a_session(), NOW, id="nobody keeps a session"),
        pytest.param(a_session(), NOW, a_session(), NOW, id="the same daemon registers again"),
        pytest.param(a_session(), NOW, a_session("boot-0002"), NOW + TTL, id="the first one has been silent"),
        pytest.param(a_session(), None, a_session("boot-0002"), NOW, id="the first one was never heard of"),
    ],
)
def test_a_session_can_be_taken_over_when(
    held: Session | None, seen: datetime | None, new: Session, now: datetime
) -> None:
    workers.check_takeover(a_worker(session=held, session_seen_at=seen), new, now, TTL)


def test_a_second_daemon_is_told_who_is_there_and_when_it_may_take_over() -> None:
    worker = a_worker(session=a_session(), session_seen_at=NOW)

    with pytest.raises(Conflict, match=r"head-1 \(pid 4711\), last seen 2026-03-01T12:00:00Z") as refused:
        workers.check_takeover(worker, a_session("boot-0002", "head-2"), NOW + seconds(89), TTL)

    assert Kind.SESSION_CONFLICT is refused.value.kind
    assert {
        "holder": "head-1 (pid 4711)",
        "last_seen_at": "2026-03-01T12:00:00+00:00",
        "takeover_at": "2026-03-01T12:01:30+00:00",
    } == refused.value.facts


def test_the_loads_after_a_claim_hold_one_more_of_its_kind() -> None:
    loads = {("embed", "gpu"): 2, ("align", None): 1}

    assert {("embed", "gpu"): 3, ("align", None): 1} == workers.loads_after(loads, ("embed", "gpu"))
    assert {("embed", "gpu"): 2, ("align", None): 1, ("embed", None): 1} == workers.loads_after(loads, ("embed", None))
    assert {("embed", "gpu"): 2, ("align", None): 1} == loads


def test_a_worker_belongs_to_one_pool() -> None:
    workers.check_pool(a_worker(), "emx2")

    with pytest.raises(Conflict, match="a worker w1 already, which claims from pool emx2"):
        workers.check_pool(a_worker(), "opeva")
