"""Calls that meet lost connections, busy servers, wrong clocks and lies."""

import hashlib
import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from cableferry.client import emx2, errors, http, schemes
from cableferry.client.caller import Caller
from cableferry.client.emx2 import Emx2, Filter
from cableferry.client.patience import Patience
from cableferry.core import signing
from cableferry.wire.emx2 import bodies
from tests.client.scripted import DROP, JOB, Asked, Line, Script, playing

SECRET = "a-secret-of-at-least-thirty-two-characters"
SIGNED = schemes.Signed("w1", SECRET)
NEW_JOB = bodies.CreateBody("echo")


def _client(
    script: Script,
    scheme: schemes.Scheme = SIGNED,
    pause: Callable[[float], object] = lambda seconds: None,
    tries: int = 4,
) -> Emx2:
    return emx2.connect(script.url, scheme, Patience(tries=tries), pause)


def _is_signed(asked: Asked) -> bool:
    digest = hashlib.sha256(asked.body).hexdigest()
    headers = asked.headers
    message = signing.canonical(asked.method, asked.target, digest, headers["x-timestamp"], headers["x-nonce"])
    return headers["authorization"] == f"HMAC-SHA256 {signing.sign(SECRET.encode(), message)}"


def _problem(kind: str, status: int, **facts: object) -> bytes:
    problem = {
        "type": f"urn:cableferry:problem:{kind}",
        "title": "No",
        "status": status,
        "detail": "no",
        **facts,
    }
    return json.dumps(problem).encode()


@pytest.mark.parametrize(
    "trouble",
    [DROP, Line(502, b""), Line(503, b"busy"), Line(504, b""), Line(429, b"", {"Retry-After": "1"})],
    ids=["a lost connection", "502", "503", "504", "429"],
)
def test_a_retry_keeps_its_idempotency_key_and_is_signed_anew(trouble: Line) -> None:
    with playing(trouble, trouble, Line(201)) as script, closing(_client(script)) as client:
        job = client.create(NEW_JOB)

    assert job.id == "j1"
    assert [3, 1, 3, 3] == [
        len(script.asked),
        len({asked.headers["idempotency-key"] for asked in script.asked}),
        len({asked.headers["x-nonce"] for asked in script.asked}),
        len({asked.headers["x-request-id"] for asked in script.asked}),
    ]
    assert all(map(_is_signed, script.asked))


def test_every_post_that_must_happen_once_has_a_key_of_its_own() -> None:
    with playing(Line()) as script, closing(_client(script)) as client:
        client.create(NEW_JOB)
        client.claim("j1", "w1")
        client.cancel("j1")
        client.transition("j1", bodies.TransitionBody("STARTED"))

    assert len({asked.headers["idempotency-key"] for asked in script.asked}) == 4


def test_what_is_told_all_day_long_leaves_no_answer_to_be_kept() -> None:
    with playing(Line(200, b'{"worker_id": "w1"}')) as script, closing(_client(script)) as client:
        client.register(bodies.RegisterBody("w1"))
        client.heartbeat("w1")
        client.sync("w1", bodies.SyncBody(holding=["j1"]))
        client.sync("w1", bodies.SyncBody(claim=1))

    assert [False, False, False, True] == ["idempotency-key" in asked.headers for asked in script.asked]


def test_the_callers_own_key_is_sent() -> None:
    with playing(Line()) as script, closing(_client(script)) as client:
        client.create(NEW_JOB, key="mine")

    assert script.asked[0].headers["idempotency-key"] == "mine"


def test_retry_after_is_waited_for() -> None:
    pauses: list[float] = []
    with (
        playing(Line(429, b"", {"Retry-After": "7"}), Line()) as script,
        closing(_client(script, pause=pauses.append)) as client,
    ):
        client.job("j1")

    assert [7 <= pause < 28 for pause in pauses] == [True]


def test_a_retry_after_beyond_our_patience_is_the_callers_affair() -> None:
    with (
        playing(Line(429, _problem("too-many-requests", 429), {"Retry-After": "3600"})) as script,
        closing(_client(script)) as client,
        pytest.raises(errors.TooMany) as caught,
    ):
        client.job("j1")

    assert (caught.value.retry_after, len(script.asked)) == (3600, 1)


def test_patience_ends() -> None:
    with (
        playing(DROP) as script,
        closing(_client(script, tries=3)) as client,
        pytest.raises(errors.Unreachable),
    ):
        client.job("j1")

    assert len(script.asked) == 3


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.Invalid),
        (401, errors.Unauthenticated),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (413, errors.Invalid),
        (422, errors.Invalid),
        (500, errors.Failed),
    ],
)
def test_a_refusal_is_typed_and_carries_its_problem(status: int, kind: type[errors.Refused]) -> None:
    with (
        playing(Line(status, _problem("stale-lease", status, holder="w2"))) as script,
        closing(_client(script)) as client,
        pytest.raises(kind) as caught,
    ):
        client.cancel("j1")

    assert (caught.value.kind, caught.value.problem.holder, len(script.asked)) == ("stale-lease", "w2", 1)


def _skewed(hours: int) -> Line:
    server_time = (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
    return Line(401, _problem("clock-skew", 401, server_time=server_time, skew_seconds=-hours * 3600))


def _ahead(asked: Asked) -> float:
    return int(asked.headers["x-timestamp"]) - datetime.now(UTC).timestamp()


def test_a_wrong_clock_is_corrected_at_once_and_stays_corrected() -> None:
    with playing(_skewed(2), Line()) as script, closing(_client(script)) as client:
        client.create(NEW_JOB)
        client.job("j1")

    first, second, third = script.asked
    assert abs(_ahead(first)) < 60
    assert all(abs(_ahead(asked) - 7200) < 60 for asked in (second, third))
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.headers["x-nonce"] != second.headers["x-nonce"]


def test_a_correction_ends_when_the_servers_dates_agree_again() -> None:
    dated = Line(headers={"Date": format_datetime(datetime.now(UTC), usegmt=True)})
    with playing(_skewed(2), dated, Line()) as script, closing(_client(script)) as client:
        client.job("j1")
        client.job("j1")

    assert abs(_ahead(script.asked[-1])) < 60


def test_a_date_out_of_a_cache_changes_nothing() -> None:
    dated = Line(headers={"Date": format_datetime(datetime.now(UTC), usegmt=True), "Age": "9"})
    with playing(_skewed(2), dated, Line()) as script, closing(_client(script)) as client:
        client.job("j1")
        client.job("j1")

    assert abs(_ahead(script.asked[-1]) - 7200) < 60


def test_a_server_that_keeps_complaining_is_not_asked_for_ever() -> None:
    with (
        playing(_skewed(2)) as script,
        closing(_client(script)) as client,
        pytest.raises(errors.Unauthenticated),
    ):
        client.job("j1")

    assert len(script.asked) == 2


def test_a_server_from_another_century_is_not_followed() -> None:
    with (
        playing(_skewed(24 * 365)) as script,
        closing(_client(script)) as client,
        pytest.raises(errors.Unauthenticated),
    ):
        client.job("j1")

    assert len(script.asked) == 1


@pytest.mark.parametrize(
    "line",
    [
        Line(200, b"<html>welcome</html>"),
        Line(200, b""),
        Line(200, b"[]"),
        Line(200, b'{"id": 7, "status": []}'),
        Line(200, b'{"status": "PENDING"}'),
        Line(200, b'{"id": "\xff", "status": "PENDING"}'),
        Line(200, b"[" * 100_000),
        Line(302, b"", {"Location": "http://127.0.0.1:1/"}),
    ],
    ids=["html", "nothing", "a list", "wrong types", "no id", "no utf-8", "too deep", "a redirect"],
)
def test_a_lie_is_a_clear_error(line: Line) -> None:
    with (
        playing(line) as script,
        closing(_client(script)) as client,
        pytest.raises(errors.BadAnswer, match="server"),
    ):
        client.job("j1")


def test_an_endless_answer_is_given_up() -> None:
    with playing(Line(200, b" " * 5000 + JOB)) as script:
        caller = Caller(http.Connection(script.url, most_bytes=1000), SIGNED)
        with closing(Emx2(caller)) as client, pytest.raises(errors.BadAnswer, match="longer than 1000 bytes"):
            client.job("j1")


def test_a_refusal_without_a_problem_still_says_something() -> None:
    with (
        playing(Line(409, b"<h1>no</h1>")) as script,
        closing(_client(script)) as client,
        pytest.raises(errors.Conflict, match="<h1>no</h1>"),
    ):
        client.cancel("j1")


def test_a_repeated_delete_that_finds_nothing_has_done_its_work() -> None:
    with playing(DROP, Line(404, _problem("deleted-job", 404))) as script, closing(_client(script)) as client:
        client.delete("j1")

    assert len(script.asked) == 2


def test_a_first_delete_that_finds_nothing_is_refused() -> None:
    with (
        playing(Line(404, _problem("unknown-job", 404))) as script,
        closing(_client(script)) as client,
        pytest.raises(errors.NotFound),
    ):
        client.delete("j1")


def test_the_signature_covers_the_target_as_it_is_sent() -> None:
    with playing(Line(200, b'{"items": []}')) as script, closing(_client(script)) as client:
        client.poll(Filter("PENDING", "café a/b:v3", "x&y=z"))

    asked = script.asked[0]
    assert asked.target == "/api/hpc/jobs?status=PENDING&processor=caf%C3%A9%20a%2Fb%3Av3&profile=x%26y%3Dz"
    assert _is_signed(asked)


def test_an_id_stays_one_part_of_the_path() -> None:
    with playing(Line()) as script, closing(_client(script)) as client:
        client.job("../workers?x#y")

    assert script.asked[0].target == "/api/hpc/jobs/..%2Fworkers%3Fx%23y"


def test_all_pages_are_walked() -> None:
    pages = [Line(200, b'{"items": [%s], "total_count": 3}' % b",".join([JOB] * count)) for count in (2, 1)]
    with playing(*pages) as script, closing(_client(script)) as client:
        jobs = list(client.jobs(Filter()))

    assert len(jobs) == 3
    assert ["limit=100", "limit=100&offset=2"] == [asked.target.partition("?")[2] for asked in script.asked]


def test_a_plain_servers_short_answers_are_enough() -> None:
    with (
        playing(Line(200, b'{"id": "j1", "status": "CLAIMED"}')) as script,
        closing(_client(script)) as client,
    ):
        job = client.claim("j1", "w1")

    assert (job.epoch, job.attempt, job.is_final) == (None, 0, False)


def test_an_unchanged_job_is_no_job() -> None:
    with playing(Line(304, b"")) as script, closing(_client(script)) as client:
        job = client.job("j1", wait=5, known=4)

    headers = script.asked[0].headers
    assert (job, headers["if-none-match"], headers["prefer"]) == (None, '"4"', "wait=5")


@pytest.mark.parametrize("scheme", [SIGNED, schemes.Bearer(SECRET)])
def test_no_secret_is_shown(scheme: schemes.Scheme) -> None:
    with playing(Line(401, _problem("bad-signature", 401))) as script:
        client = _client(script, scheme)
        with closing(client), pytest.raises(errors.Unauthenticated) as caught:
            client.job("j1")

    assert SECRET not in f"{scheme!r} {client!r} {caught.value!r} {caught.value.problem!r}"
