"""The contract's rulings about jobs, asked of the real server."""

from typing import Any

import pytest

from cableferry.testing.servers import Client
from tests.dialects.desk import Desk

LINKS = {
    "PENDING": {"self", "claim", "cancel", "transitions"},
    "CLAIMED": {"self", "submit", "cancel", "transitions"},
    "SUBMITTED": {"self", "start", "cancel", "transitions"},
    "STARTED": {"self", "complete", "fail", "cancel", "transitions"},
    "COMPLETED": {"self", "transitions"},
    "FAILED": {"self", "transitions"},
    "CANCELLED": {"self", "transitions"},
}
FINAL = ("COMPLETED", "FAILED", "CANCELLED")


def _links(body: dict[str, Any]) -> dict[str, dict[str, str]]:
    return dict(body["_links"])


def test_a_new_job_is_pending_and_says_what_can_be_done_with_it(client: Client) -> None:
    reply = client.post("/api/hpc/jobs", {"processor": "text-embedding:v3", "profile": "gpu-medium"})

    assert reply.status == 201
    assert reply.json["status"] == "PENDING"
    assert reply.headers["location"] == f"/api/hpc/jobs/{reply.json['id']}"


@pytest.mark.parametrize("status", LINKS)
def test_the_links_of_a_job_are_exactly_the_contracts(desk: Desk, status: str) -> None:
    job = desk.job_in(status)

    shown = desk.job(job)

    assert shown["status"] == status
    assert set(_links(shown)) == LINKS[status]


def test_every_link_of_a_job_leads_somewhere(desk: Desk) -> None:
    job = desk.job_in("STARTED")

    replies = [desk.client.call(link["method"], link["href"], b"{}") for link in _links(desk.job(job)).values()]

    assert 404 not in {reply.status for reply in replies}
    assert 405 not in {reply.status for reply in replies}


def test_a_claim_answers_with_the_whole_job(desk: Desk) -> None:
    desk.register()
    job = desk.create(parameters={"model": "large"}, inputs={"dataset": "corpus-01"}, timeout_seconds=60)

    claimed = desk.claim(job)

    assert claimed.status == 200
    assert claimed.json == desk.job(job)
    assert claimed.json["parameters"] == {"model": "large"}
    assert claimed.json["inputs"] == {"dataset": "corpus-01"}
    assert claimed.json["timeout_seconds"] == 60


def test_a_second_claim_is_refused(desk: Desk) -> None:
    job = desk.job_in("CLAIMED")

    again = desk.claim(job)

    assert (again.status, again.kind) == (409, "already-claimed")


def test_a_job_is_claimed_through_claim_only(desk: Desk) -> None:
    job = desk.job_in("PENDING")

    assert desk.report(job, "CLAIMED").status == 409
    assert desk.job(job)["status"] == "PENDING"


@pytest.mark.parametrize("status", ["CLAIMED", "SUBMITTED", "STARTED"])
def test_a_job_may_fail_from_every_state_in_which_it_is_held(desk: Desk, status: str) -> None:
    job = desk.job_in(status)

    assert desk.report(job, "FAILED", detail="sbatch: error").status == 200


@pytest.mark.parametrize("old", LINKS)
@pytest.mark.parametrize("new", LINKS)
def test_only_the_contracts_moves_are_possible(desk: Desk, old: str, new: str) -> None:
    moves = {
        "CLAIMED": {"SUBMITTED", "FAILED", "CANCELLED"},
        "SUBMITTED": {"STARTED", "FAILED", "CANCELLED"},
        "STARTED": {"COMPLETED", "FAILED", "CANCELLED"},
    }
    job = desk.job_in(old)

    reply = desk.report(job, new, detail="something new")

    is_note = new == old and old in moves
    assert (reply.status == 200) == (new in moves.get(old, ()) or is_note)
    assert reply.status in (200, 409)


def test_the_same_report_again_writes_nothing(desk: Desk) -> None:
    job = desk.job_in("SUBMITTED")
    before = desk.history(job)

    again = desk.report(job, "SUBMITTED")

    assert again.status == 200
    assert desk.history(job) == before


def test_a_report_of_the_same_state_with_news_is_kept(desk: Desk) -> None:
    job = desk.job_in("STARTED")

    reply = desk.report(job, "STARTED", phase="train", message="epoch 3", progress=0.5)

    assert reply.status == 200
    assert (reply.json["phase"], reply.json["message"], reply.json["progress"]) == ("train", "epoch 3", 0.5)
    assert desk.history(job)[-1]["progress"] == 0.5


@pytest.mark.parametrize("status", ["COMPLETED", "FAILED"])
def test_the_end_is_reported_once_or_again_word_for_word(desk: Desk, status: str) -> None:
    job = desk.job_in("STARTED")
    desk.report(job, status, detail="exit code 0")

    assert desk.report(job, status, detail="exit code 0").status == 200
    assert desk.report(job, status, detail="something else").status == 409
    assert desk.report(job, "STARTED", detail="late").status == 409


@pytest.mark.parametrize("status", FINAL)
def test_complete_takes_what_ends_a_job(desk: Desk, status: str) -> None:
    job = desk.job_in("STARTED")

    reply = desk.client.post(f"/api/hpc/jobs/{job}/complete", {"status": status, "worker_id": desk.worker})

    assert (reply.status, reply.json["status"]) == (200, status)


@pytest.mark.parametrize("status", ["PENDING", "CLAIMED", "SUBMITTED", "STARTED"])
def test_complete_refuses_what_does_not_end_a_job(desk: Desk, status: str) -> None:
    job = desk.job_in("STARTED")

    reply = desk.client.post(f"/api/hpc/jobs/{job}/complete", {"status": status, "worker_id": desk.worker})

    assert reply.status == 400


@pytest.mark.parametrize("status", ["PENDING", "CLAIMED", "SUBMITTED", "STARTED"])
def test_cancel_needs_no_body(desk: Desk, status: str) -> None:
    job = desk.job_in(status)

    reply = desk.client.post(f"/api/hpc/jobs/{job}/cancel")

    assert (reply.status, reply.json["status"]) == (200, "CANCELLED")


@pytest.mark.parametrize("status", FINAL)
def test_what_is_over_cannot_be_cancelled(desk: Desk, status: str) -> None:
    job = desk.job_in(status)

    assert desk.client.post(f"/api/hpc/jobs/{job}/cancel").status == 409


@pytest.mark.parametrize("status", LINKS)
def test_a_deleted_job_is_gone_and_known_to_be(desk: Desk, status: str) -> None:
    job = desk.job_in(status)

    deleted = desk.client.call("DELETE", f"/api/hpc/jobs/{job}")

    assert (deleted.status, deleted.body) == (204, b"")
    assert desk.client.get(f"/api/hpc/jobs/{job}").kind == "deleted-job"
    assert desk.report(job, "STARTED").status == 404


def test_the_history_says_who_moved_a_job_from_where_to_where(desk: Desk) -> None:
    job = desk.job_in("COMPLETED")

    moves = [(row["from_status"], row["to_status"], row["worker_id"]) for row in desk.history(job)]

    assert moves == [
        (None, "PENDING", None),
        ("PENDING", "CLAIMED", desk.worker),
        ("CLAIMED", "SUBMITTED", desk.worker),
        ("SUBMITTED", "STARTED", desk.worker),
        ("STARTED", "COMPLETED", desk.worker),
    ]


def test_a_list_shows_pending_jobs_of_a_processor_in_the_order_of_claiming(desk: Desk) -> None:
    desk.register()
    old, new, urgent = desk.create(), desk.create(), desk.create(priority=5)
    desk.claim(desk.create())

    reply = desk.client.get(f"/api/hpc/jobs?processor={desk.processor}&profile=small")

    assert [item["id"] for item in _items(reply.json)] == [urgent, old, new]
    assert (reply.json["count"], reply.json["total_count"], reply.headers["x-total-count"]) == (3, 3, "3")


def test_a_job_without_a_profile_is_shown_to_every_profile(desk: Desk) -> None:
    job = desk.create(profile=None)

    reply = desk.client.get(f"/api/hpc/jobs?status=PENDING&processor={desk.processor}&profile=small")

    assert [item["id"] for item in _items(reply.json)] == [job]


def test_a_page_begins_where_it_is_told_to(desk: Desk) -> None:
    jobs = [desk.create() for _ in range(5)]

    reply = desk.client.get(f"/api/hpc/jobs?processor={desk.processor}&limit=2&offset=1")

    assert [item["id"] for item in _items(reply.json)] == jobs[1:3]
    assert (reply.json["count"], reply.json["total_count"]) == (2, 5)
    assert (reply.json["limit"], reply.json["offset"]) == (2, 1)


def test_a_list_of_all_shows_every_status(desk: Desk) -> None:
    desk.register()
    ended, pending = desk.job_in("FAILED"), desk.create()

    reply = desk.client.get(f"/api/hpc/jobs?status=ALL&processor={desk.processor}")

    assert [item["id"] for item in _items(reply.json)] == [ended, pending]


def _items(body: dict[str, Any]) -> list[dict[str, Any]]:
    return list(body["items"])


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (None, None),
        ([], []),
        (["a", {"artifact_id": "b"}], ["a", {"artifact_id": "b"}]),
        ({"dataset": "corpus-01"}, {"dataset": "corpus-01"}),
        ('["a"]', ["a"]),
        ('{"dataset": "b"}', {"dataset": "b"}),
    ],
)
def test_inputs_have_every_shape_that_clients_send(desk: Desk, sent: object, kept: object) -> None:
    assert desk.job(desk.create(inputs=sent))["inputs"] == kept


@pytest.mark.parametrize("sent", [1, True, "text", [1], {"a": 1}, [""], '"a"', [None]])
def test_inputs_of_another_shape_are_refused(desk: Desk, sent: object) -> None:
    reply = desk.client.post("/api/hpc/jobs", {"processor": "p", "inputs": sent})

    assert reply.status == 400
    assert "inputs" in str(reply.json["detail"])


def test_parameters_arrive_byte_for_byte(desk: Desk) -> None:
    text = {"args": ["$(rm -rf /)", "`id`", 'say "hi"\n', "☃", "\u0000"], "n": 0.1}

    assert desk.job(desk.create(parameters=text))["parameters"] == text


@pytest.mark.parametrize("sent", [1, [], "text", True])
def test_parameters_that_are_no_object_are_refused(desk: Desk, sent: object) -> None:
    assert desk.client.post("/api/hpc/jobs", {"processor": "p", "parameters": sent}).status == 400


def test_times_say_their_zone_and_numbers_are_numbers(desk: Desk) -> None:
    job = desk.job(desk.job_in("STARTED"))

    assert str(job["created_at"]).endswith("Z")
    assert "T" in str(job["created_at"])
    assert isinstance(job["attempt"], int)
    assert (job["phase"], job["message"], job["progress"]) == (None, None, None)


def test_the_submit_user_is_taken_from_the_body_while_authentication_is_off(desk: Desk) -> None:
    assert desk.job(desk.create(submit_user="researcher@example.org"))["submit_user"] == "researcher@example.org"


def test_no_priority_is_the_usual_one(desk: Desk) -> None:
    assert desk.job(desk.create(priority=None))["priority"] == 0


def test_the_job_says_why_it_waits(desk: Desk) -> None:
    job = desk.create()

    reply = desk.client.get(f"/api/hpc/jobs/{job}/explain")

    assert (reply.status, reply.json["code"]) == (200, "not-offered")
    assert str(reply.json["sentence"]).endswith(".")


def test_a_batch_claim_takes_the_urgent_and_the_old_first(desk: Desk) -> None:
    desk.register()
    old, _, urgent = desk.create(), desk.create(), desk.create(priority=1)

    reply = desk.client.post("/api/hpc/jobs/claim", {"worker_id": desk.worker, "limit": 2})

    assert [item["id"] for item in _items(reply.json)] == [urgent, old]
    assert {item["status"] for item in _items(reply.json)} == {"CLAIMED"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/transitions"),
        ("GET", "/explain"),
        ("POST", "/claim"),
        ("POST", "/transition"),
        ("POST", "/complete"),
        ("POST", "/cancel"),
    ],
)
@pytest.mark.parametrize("job", ["00000000-0000-4000-8000-000000000000", "not-a-uuid", "%00", "%E2%98%83"])
def test_a_job_that_is_not_there_is_not_found(desk: Desk, method: str, path: str, job: str) -> None:
    desk.register()
    body = {"worker_id": desk.worker, "status": "FAILED"} if method == "POST" else None

    reply = desk.client.call(method, f"/api/hpc/jobs/{job}{path}", body)

    assert reply.status == (400 if job == "%00" else 404)


def test_the_same_report_with_its_remarks_is_taken_once(desk: Desk) -> None:
    job = desk.job_in("SUBMITTED")
    scheduler = {"state": "PENDING", "reason": "Priority", "starts_at": "2026-03-01T14:00:00+01:00"}
    usage = {"elapsed_seconds": 1.5, "exit_code": 1}
    for _ in range(2):
        assert 200 == desk.report(job, "SUBMITTED", scheduler=scheduler).status
    desk.report(job, "STARTED")
    for _ in range(2):
        assert 200 == desk.report(job, "FAILED", usage=usage, cause="out-of-memory").status

    assert 409 == desk.report(job, "FAILED", usage={"exit_code": 2}).status
    assert ["PENDING", "CLAIMED", "SUBMITTED", "SUBMITTED", "STARTED", "FAILED"] == [
        row["to_status"] for row in desk.history(job)
    ]
    shown = desk.job(job)
    assert (usage, "out-of-memory") == (shown["usage"], shown["cause"])
    assert "2026-03-01T14:00:00+01:00" == shown["scheduler"]["starts_at"]


def test_a_cause_that_only_the_server_knows_is_refused(desk: Desk) -> None:
    job = desk.job_in("STARTED")

    assert 400 == desk.report(job, "FAILED", cause="offline").status
