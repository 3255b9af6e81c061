"""Bodies of the protocol: what daemons in the field send is read, what we write has the keys they need."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from cableferry.core.jobs import FINAL, HELD, Cause, Payload, State, Transition
from cableferry.core.workers import Offer
from cableferry.wire.emx2 import bodies
from cableferry.wire.emx2.bodies import (
    Capability,
    ClaimBody,
    CreateBody,
    Extensions,
    JobBody,
    Link,
    Problem,
    RegisterBody,
    SyncBody,
    TransitionBody,
    TransitionItem,
    WorkerBody,
)
from cableferry.wire.emx2.words import WORDS
from tests.core.specimens import NOW, a_job, a_session, a_worker
from tests.wire.recorded import CLAIM, REGISTER, TRANSITIONS

JOB_KEYS = {"id", "processor", "profile", "status", "phase", "message", "progress", "_links", "worker_id", "inputs",
            "parameters", "submit_user", "timeout_seconds", "slurm_job_id", "claimed_at", "output_artifact_id",
            "log_artifact_id", "created_at"}  # fmt: skip
TRANSITION_KEYS = {"id", "job_id", "from_status", "to_status", "timestamp", "phase", "message", "progress", "worker_id",
                   "detail"}  # fmt: skip
WORKER_KEYS = {"worker_id", "hostname", "registered_at", "last_heartbeat_at", "_links", "capabilities"}

names = st.text(st.characters(min_codepoint=32, exclude_characters="\x7f", codec="utf-8"), min_size=1, max_size=40)


def written(body: msgspec.Struct) -> dict[str, object]:
    return msgspec.json.decode(msgspec.json.encode(body))


@pytest.mark.parametrize("body", REGISTER.values(), ids=REGISTER)
def test_what_a_daemon_in_the_field_registers_is_read_whole(body: bytes) -> None:
    read = msgspec.json.decode(body, type=RegisterBody)

    sent = msgspec.json.decode(body)
    assert sent["capabilities"] == msgspec.to_builtins(read.capabilities)
    assert (sent["worker_id"], sent["hostname"], None) == (read.worker_id, read.hostname, read.session)


def test_what_a_daemon_in_the_field_claims_with_is_read() -> None:
    assert ClaimBody("hpc-headnode-01") == msgspec.json.decode(CLAIM, type=ClaimBody)


@pytest.mark.parametrize("body", TRANSITIONS.values(), ids=TRANSITIONS)
def test_what_a_daemon_in_the_field_reports_is_read_whole(body: bytes) -> None:
    read = msgspec.json.decode(body, type=TransitionBody)

    said = {name: value for name, value in msgspec.to_builtins(read).items() if value is not None}
    assert msgspec.json.decode(body) == said


def test_a_field_nobody_knows_yet_is_passed_over() -> None:
    body = b'{"status": "STARTED", "worker_id": "w1", "gpu_seconds": 7}'

    assert TransitionBody("STARTED", "w1") == msgspec.json.decode(body, type=TransitionBody)


NO_ROOM = b'{"worker_id": "w", "capabilities": [{"processor": "p", "max_concurrent_jobs": -1}]}'
MALFORMED = [
    ("a worker id with a slash", RegisterBody, b'{"worker_id": "a/b"}'),
    ("a worker id with a space", RegisterBody, b'{"worker_id": "a b"}'),
    ("an empty worker id", RegisterBody, b'{"worker_id": ""}'),
    ("a worker id that is too long", RegisterBody, b'{"worker_id": "' + b"w" * 256 + b'"}'),
    ("a limit below nothing", RegisterBody, NO_ROOM),
    ("a processor with a NUL", CreateBody, b'{"processor": "a\\u0000b"}'),
    ("no processor", CreateBody, b"{}"),
    ("a timeout of no time", CreateBody, b'{"processor": "p", "timeout_seconds": 0}'),
    ("a timeout beyond all time", CreateBody, b'{"processor": "p", "timeout_seconds": 1e30}'),
    ("a progress beyond its end", TransitionBody, b'{"status": "STARTED", "progress": 1.01}'),
    ("a progress that is no number", TransitionBody, b'{"status": "STARTED", "progress": NaN}'),
    ("a phase that is too long", TransitionBody, b'{"status": "STARTED", "phase": "' + b"x" * 101 + b'"}'),
    ("a message that is too long", TransitionBody, b'{"status": "STARTED", "message": "' + b"x" * 501 + b'"}'),
    ("a detail with a NUL", TransitionBody, b'{"status": "STARTED", "detail": "a\\u0000b"}'),
    ("an epoch before all epochs", TransitionBody, b'{"status": "STARTED", "epoch": -1}'),
    ("a status that is a number", TransitionBody, b'{"status": 7}'),
    ("more claims than one answer holds", SyncBody, b'{"claim": 1001}'),
]


@pytest.mark.parametrize(("kind", "body"), [m[1:] for m in MALFORMED], ids=[m[0] for m in MALFORMED])
def test_a_malformed_body_is_not_read(kind: type[msgspec.Struct], body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(body, type=kind)


@pytest.mark.parametrize("state", WORDS)
def test_a_job_is_written_with_every_key_a_daemon_reads_and_read_back_the_same(state: State) -> None:
    body = bodies.job(a_job(state, parameters=Raw(b'{"a": [1.50, "\\u00e9"]}'), inputs=Raw(b'["corpus-01"]')))

    assert set(written(body)) >= JOB_KEYS
    assert body == msgspec.json.decode(msgspec.json.encode(body), type=JobBody)


def test_parameters_and_inputs_are_written_byte_for_byte() -> None:
    parameters = b'{"b":1.50,"a":"\\u00e9"}'

    text = msgspec.json.encode(bodies.job(a_job(parameters=Raw(parameters))))

    assert b'"parameters":' + parameters + b"," in text


def test_a_job_that_says_nothing_of_its_progress_has_nulls() -> None:
    body = written(bodies.job(a_job()))

    assert [None, None, None] == [body["phase"], body["message"], body["progress"]]


def test_times_are_written_in_utc_with_their_offset() -> None:
    assert "2026-03-01T12:00:00Z" == written(bodies.job(a_job()))["created_at"]


LINKS = [
    (State.READY, {"self", "claim", "cancel", "transitions"}),
    (State.CLAIMED, {"self", "submit", "cancel", "transitions"}),
    (State.SUBMITTED, {"self", "start", "cancel", "transitions"}),
    (State.RUNNING, {"self", "complete", "fail", "cancel", "transitions"}),
    (State.SUCCEEDED, {"self", "transitions"}),
    (State.FAILED, {"self", "transitions"}),
    (State.CANCELLED, {"self", "transitions"}),
]


@pytest.mark.parametrize(("state", "expected"), LINKS)
def test_the_links_of_a_job_are_exactly_the_protocols(state: State, expected: set[str]) -> None:
    assert expected == set(bodies.job_links(a_job(state)))


def test_a_link_says_where_to_go_and_how() -> None:
    links = {**bodies.job_links(a_job()), **bodies.job_links(a_job(State.RUNNING))}

    assert {
        "self": Link("/api/hpc/jobs/j17", "GET"),
        "transitions": Link("/api/hpc/jobs/j17/transitions", "GET"),
        "claim": Link("/api/hpc/jobs/j17/claim", "POST"),
        "cancel": Link("/api/hpc/jobs/j17/cancel", "POST"),
        "complete": Link("/api/hpc/jobs/j17/transition", "POST"),
        "fail": Link("/api/hpc/jobs/j17/transition", "POST"),
    } == links


payloads = st.builds(Payload, names, names, names, names, names, names, names, st.floats(0, 1))


@given(
    st.none() | st.sampled_from(sorted(WORDS)),
    st.sampled_from(sorted(HELD & set(WORDS)) + sorted(FINAL)),
    st.none() | st.sampled_from(Cause),
    payloads,
)
def test_a_row_of_a_history_is_read_back_as_it_was_written(
    old: State | None, new: State, cause: Cause | None, payload: Payload
) -> None:
    row = Transition(17, 4, 1, 2, old, new, cause, "worker:w1", NOW, payload)

    item = bodies.transition("j17", "j17:4", row)

    assert set(written(item)) >= TRANSITION_KEYS
    assert item == msgspec.json.decode(msgspec.json.encode(item), type=TransitionItem)
    assert (old and WORDS[old], WORDS[new], 4) == (item.from_status, item.to_status, item.sequence)
    told = [name for name in Payload.__struct_fields__ if name != "remarks"]
    assert payload == Payload(*[getattr(item, "worker_id" if name == "worker" else name) for name in told])


def test_a_worker_is_written_with_every_key_a_daemon_reads() -> None:
    body = bodies.worker(a_worker("w1", Offer("embed", "gpu", 4), session=a_session(), session_seen_at=NOW))

    assert set(written(body)) >= WORKER_KEYS
    assert [Capability("embed", "gpu", 4)] == body.capabilities
    assert body == msgspec.json.decode(msgspec.json.encode(body), type=WorkerBody)


def test_what_a_server_can_do_beyond_the_protocol_is_said_only_where_asked() -> None:
    extensions = Extensions(55, "/api/hpc/jobs/claim", "/api/hpc/workers/w1/sync", True, True, True, "/api/hpc/uploads")

    assert "extensions" not in written(bodies.worker(a_worker()))
    assert msgspec.to_builtins(extensions) == written(bodies.worker(a_worker(), extensions))["extensions"]


def test_a_problem_leaves_out_what_it_does_not_know() -> None:
    problem = Problem("urn:cableferry:problem:no-room", "Conflict", 409, "worker w1 is full")

    assert {"type", "title", "status", "detail"} == set(written(problem))


@given(st.from_type(TransitionBody).filter(lambda body: body.epoch is None or body.epoch >= 0))
def test_whatever_may_be_reported_survives_the_wire(body: TransitionBody) -> None:
    text = msgspec.json.encode(body)
    try:
        read = msgspec.json.decode(text, type=TransitionBody)
    except msgspec.ValidationError:
        return

    assert text == msgspec.json.encode(read)
