"""What a server's answers to one cycle mean for the jobs held."""

from contextlib import closing

import msgspec
import pytest

from cableferry.client import emx2, errors, schemes
from cableferry.client.patience import ONCE, Patience
from cableferry.daemon.config import Config, Profile
from cableferry.daemon.conversation import Conversation
from cableferry.daemon.journal import Entry
from cableferry.daemon.upstreams.plain import Plain
from cableferry.daemon.upstreams.protocol import Get, Give
from cableferry.daemon.upstreams.synced import BUSY_SECONDS, IDLE_SECONDS, Synced
from cableferry.wire.emx2.bodies import Extensions, SyncBody, TransitionBody
from tests.client.scripted import DROP, Line, Script, playing

EXTENSIONS = Extensions(55, "/api/hpc/jobs/claim", "/sync", sessions=True, epochs=True, idempotency_key=True)
CONFIG = Config(worker_id="w1", server="", state_dir="", jobs_dir="", profiles=(Profile(processor="echo"),))
GIVE = Give((Entry(7, "j1", TransitionBody("STARTED")),), ("j1",), 0)


def _synced(script: Script) -> Get:
    with closing(emx2.connect(script.url, schemes.Unsigned("w1"), ONCE)) as client:
        return Synced(client, "w1", EXTENSIONS).exchange(GIVE)


def _plain(script: Script) -> Get:
    with closing(emx2.connect(script.url, schemes.Unsigned("w1"), ONCE)) as client:
        return Plain(client, CONFIG).exchange(GIVE)


def _result(code: int, kind: str) -> Line:
    return Line(200, b'{"reports": [{"job_id": "j1", "code": %d, "kind": "%s"}]}' % (code, kind.encode()))


@pytest.mark.parametrize(
    ("code", "kind", "is_told", "is_stopped"),
    [
        (200, "", True, False),
        (409, "stale-lease", True, True),
        (409, "already-ended", True, True),
        (404, "deleted-job", True, True),
        (400, "malformed", True, False),
        (503, "unavailable", False, False),
    ],
)
def test_a_report_is_told_until_the_server_has_judged_it(code: int, kind: str, is_told: bool, is_stopped: bool) -> None:
    with playing(_result(code, kind)) as script:
        got = _synced(script)

    assert (7 in got.told, "j1" in got.stop) == (is_told, is_stopped)


@pytest.mark.parametrize(("kind", "displaced"), [("session-revoked", "why"), ("drained", None)])
def test_only_who_has_lost_its_place_stops_submitting(kind: str, displaced: str | None) -> None:
    answer = b'{"reports": [], "no_claims": {"kind": "%s", "detail": "why"}}' % kind.encode()
    with playing(Line(200, answer)) as script:
        assert displaced == _synced(script).displaced


@pytest.mark.parametrize(
    ("claimed", "pause"), [(b"", IDLE_SECONDS), (b'{"id": "j2", "status": "CLAIMED"}', BUSY_SECONDS)]
)
def test_who_was_just_given_a_job_soon_asks_whether_it_is_still_wanted(claimed: bytes, pause: float) -> None:
    with (
        playing(Line(200, b'{"reports": [], "claimed": [%s]}' % claimed)) as script,
        closing(emx2.connect(script.url, schemes.Unsigned("w1"), ONCE)) as client,
    ):
        conversation = Conversation(CONFIG, client, "s1")
        conversation.upstream = Synced(client, "w1", EXTENSIONS)
        talked = conversation.exchange(Give((), (), 1), is_sure=True)

    assert (talked.trouble, talked.pause_seconds) == (None, pause)


def test_what_hinders_a_daemon_is_said() -> None:
    with playing(Line(200, b'{"reports": []}')) as script:
        with closing(emx2.connect(script.url, schemes.Unsigned("w1"), ONCE)) as client:
            Synced(client, "w1", EXTENSIONS).exchange(Give((), (), 1, "no squeue\0" + "!" * 5000))
        said = msgspec.json.decode(script.asked[0].body, type=SyncBody).trouble or ""

    assert (True, 1000) == (said.startswith("no squeue!"), len(said))


def test_no_more_is_said_at_once_than_a_server_takes_and_all_of_it_in_turn() -> None:
    holding = tuple(f"j{number}" for number in range(15_000))
    with playing(Line(200, b'{"reports": []}')) as script:
        with closing(emx2.connect(script.url, schemes.Unsigned("w1"), ONCE)) as client:
            synced = Synced(client, "w1", EXTENSIONS)
            for _ in range(2):
                synced.exchange(Give((), holding, 5000))
        bodies = [msgspec.json.decode(asked.body, type=SyncBody) for asked in script.asked]

    told = [body.holding or [] for body in bodies]
    assert ([10_000, 10_000], set(holding)) == ([len(each) for each in told], set().union(*told))
    assert all(0 < body.claim <= 1000 for body in bodies)


def test_a_report_without_a_result_is_told_again() -> None:
    with playing(Line(200, b'{"reports": []}')) as script:
        assert _synced(script).told == frozenset()


@pytest.mark.parametrize(
    ("job", "is_stopped"),
    [
        (Line(200, b'{"id": "j1", "status": "STARTED", "worker_id": "w1"}'), False),
        (Line(200, b'{"id": "j1", "status": "STARTED"}'), False),
        (Line(200, b'{"id": "j1", "status": "STARTED", "worker_id": "w2"}'), True),
        (Line(200, b'{"id": "j1", "status": "CANCELLED", "worker_id": "w1"}'), True),
        (Line(404, b'{"detail": "gone"}'), True),
    ],
    ids=["ours", "nobody's", "another's", "cancelled", "deleted"],
)
def test_a_plain_server_is_asked_about_each_job(job: Line, is_stopped: bool) -> None:
    with playing(Line(), job, Line(200, b"{}")) as script:
        got = _plain(script)

    assert (got.told, "j1" in got.stop) == (frozenset({7}), is_stopped)


def test_of_many_jobs_a_plain_server_is_asked_in_lists_and_about_the_rest_alone() -> None:
    """One is another worker's by now, one is not listed, and one list answers what was not asked."""
    holding = tuple(f"j{number}" for number in range(30))

    def page(status: str, ids: tuple[str, ...], worker: str = "w1") -> Line:
        items = [{"id": id_, "status": status, "worker_id": worker} for id_ in ids]
        return Line(200, msgspec.json.encode({"items": items, "total_count": len(items)}))

    lists = (page("PENDING", ("j28",)), page("STARTED", holding[:28]), page("SUBMITTED", ("j29",), "w2"))
    ended = Line(200, b'{"id": "j28", "status": "COMPLETED", "worker_id": "w1"}')
    taken = Line(200, b'{"id": "j29", "status": "SUBMITTED", "worker_id": "w2"}')
    with playing(*lists, ended, taken, Line(200, b"{}")) as script:
        with closing(emx2.connect(script.url, schemes.Unsigned("w1"), ONCE)) as client:
            got = Plain(client, CONFIG).exchange(Give((), holding, 0))
        asked = [each.target.rpartition("/")[2] for each in script.asked]

    assert (got.stop, asked[3:5]) == ({"j28", "j29"}, ["j28", "j29"])


def test_a_report_that_a_plain_server_refuses_is_not_repeated_for_ever() -> None:
    refused = Line(409, b'{"detail": "no"}')
    with playing(refused, Line(404, b"{}"), Line(200, b"{}")) as script:
        assert _plain(script).told == frozenset({7})


def test_a_cycle_that_the_server_did_not_answer_has_not_happened() -> None:
    with playing(DROP) as script, pytest.raises(errors.Unreachable):
        _plain(script)


@pytest.mark.parametrize(("holder", "is_ours"), [("w1", True), ("w2", False)])
def test_a_claim_that_was_heard_though_its_answer_was_lost_is_ours(holder: str, is_ours: bool) -> None:
    """A plain server refuses the second try, as it would anybody's."""
    waiting = Line(200, b'{"items": [{"id": "j1", "status": "PENDING"}], "count": 1, "total_count": 1}')
    refused = Line(409, b'{"title": "Conflict", "status": 409, "detail": "Job j1 already claimed"}')
    shown = Line(200, b'{"id": "j1", "status": "CLAIMED", "worker_id": "%s"}' % holder.encode())
    with (
        playing(Line(), waiting, DROP, refused, shown) as script,
        closing(emx2.connect(script.url, schemes.Unsigned("w1"), Patience(tries=2), lambda seconds: None)) as client,
    ):
        got = Plain(client, CONFIG).exchange(Give((), (), 1))

    assert [job.id for job in got.claimed] == (["j1"] if is_ours else [])
