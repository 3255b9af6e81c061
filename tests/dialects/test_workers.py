"""The contract's rulings about workers, asked of the real server."""

from typing import Any

import pytest

from cableferry.testing.servers import Client
from tests.dialects.desk import Desk


def _session(number: int) -> dict[str, Any]:
    return {"id": f"session-{number}", "host": f"login-{number}", "pid": 100 + number}


def test_registering_again_replaces_what_a_worker_offers(desk: Desk) -> None:
    desk.register()

    again = desk.register(capabilities=[{"processor": "other", "profile": None}])

    assert again.status == 200
    shown: Any = desk.client.get(f"/api/hpc/workers/{desk.worker}").json
    assert [offer["processor"] for offer in shown["capabilities"]] == ["other"]
    assert shown["registered_at"] == again.json["registered_at"]


def test_the_schema_of_parameters_is_shown_as_it_came(desk: Desk) -> None:
    schema = {"type": "object", "properties": {"below": {"type": "integer", "minimum": 2}}}

    desk.register(capabilities=[{"processor": "p", "parameters_schema": schema}, {"processor": "q"}])

    shown: Any = desk.client.get(f"/api/hpc/workers/{desk.worker}").json["capabilities"]
    assert [schema, None] == [offer.get("parameters_schema") for offer in shown]


@pytest.mark.parametrize("schema", ["text", [1], 7, {"x": "y" * 40_000}, {"a": [[[[0]]]] * 9_000}])
def test_what_is_no_schema_of_parameters_is_refused(desk: Desk, schema: object) -> None:
    refused = desk.register(capabilities=[{"processor": "p", "parameters_schema": schema}])

    assert refused.status == 400
    assert "parameters_schema of processor p" in str(refused.json["detail"])


def test_schemas_that_are_too_much_together_are_refused(desk: Desk) -> None:
    schema = {"title": "x" * 30_000}
    many = [{"processor": f"p{number}", "parameters_schema": schema} for number in range(9)]

    refused = desk.register(capabilities=many)

    assert refused.status == 400
    assert "together" in str(refused.json["detail"])
    assert desk.register(capabilities=many[:8]).status == 200


def test_a_schema_may_be_left_empty(desk: Desk) -> None:
    desk.register(capabilities=[{"processor": "p", "parameters_schema": None}])

    shown: Any = desk.client.get(f"/api/hpc/workers/{desk.worker}").json["capabilities"]
    assert "parameters_schema" not in shown[0]


def test_the_register_answer_tells_what_else_the_server_can_do(desk: Desk) -> None:
    extensions: Any = desk.register().json["extensions"]

    assert extensions["long_poll_seconds"] == 55
    assert extensions["claim_many"] == "/api/hpc/jobs/claim"


def test_no_link_of_a_worker_is_dead(desk: Desk) -> None:
    body = desk.register().json
    links: Any = body["_links"]

    replies = [desk.client.call(link["method"], link["href"], body).status for link in links.values()]

    assert replies == [200] * len(links)


@pytest.mark.parametrize("name", ["50%25", "café", "node:1", "a;b=c", "100%"])
def test_the_link_of_a_worker_with_an_odd_name_leads_to_it(client: Client, name: str) -> None:
    links: Any = client.post("/api/hpc/workers/register", {"worker_id": name}).json["_links"]

    assert client.get(links["self"]["href"]).json["worker_id"] == name


def test_a_heartbeat_has_no_body(desk: Desk) -> None:
    desk.register()

    reply = desk.client.post(f"/api/hpc/workers/{desk.worker}/heartbeat", headers={"Content-Length": "0"})

    assert (reply.status, reply.json) == (200, {"worker_id": desk.worker, "status": "ok"})


def test_a_heartbeat_of_an_unknown_worker_is_not_found(client: Client) -> None:
    reply = client.post("/api/hpc/workers/nobody/heartbeat")

    assert reply.status == 404
    assert "not found" in str(reply.json["detail"])


def test_workers_are_listed(desk: Desk) -> None:
    desk.register()

    body: Any = desk.client.get("/api/hpc/workers").json

    assert desk.worker in [item["worker_id"] for item in body["items"]]
    assert body["count"] == len(body["items"])


def test_a_deleted_worker_is_gone(desk: Desk) -> None:
    desk.register()

    assert desk.client.call("DELETE", f"/api/hpc/workers/{desk.worker}").status == 204
    assert desk.client.get(f"/api/hpc/workers/{desk.worker}").status == 404
    assert desk.client.call("DELETE", f"/api/hpc/workers/{desk.worker}").status == 404


def test_a_worker_claims_only_what_it_offers(desk: Desk) -> None:
    desk.register(capabilities=[{"processor": "other", "profile": "small"}])

    reply = desk.claim(desk.create())

    assert reply.status == 409
    assert "does not have a registered capability" in str(reply.json["detail"])


@pytest.mark.parametrize("wild", ["*", "any"])
def test_a_wildcard_offers_everything(desk: Desk, wild: str) -> None:
    desk.register(capabilities=[{"processor": wild, "profile": wild}])

    assert desk.claim(desk.create()).status == 200


def test_a_full_worker_claims_nothing(desk: Desk) -> None:
    desk.register(capabilities=[{"processor": desk.processor, "profile": "small", "max_concurrent_jobs": 1}])
    desk.claim(desk.create())

    reply = desk.claim(desk.create())

    assert reply.status == 409
    assert "max_concurrent_jobs" in str(reply.json["detail"])


def test_an_unregistered_worker_claims_nothing(desk: Desk) -> None:
    assert desk.claim(desk.create()).status == 409


def test_a_second_daemon_is_told_who_holds_the_name(desk: Desk) -> None:
    desk.register(session=_session(1))

    second = desk.register(session=_session(2))

    assert (second.status, second.kind) == (409, "session-conflict")
    assert "login-1" in str(second.json["holder"])
    assert str(second.json["takeover_at"]) > str(second.json["last_seen_at"])


def test_a_daemon_of_another_session_may_not_claim(desk: Desk) -> None:
    desk.register(session=_session(1))
    job = desk.create()

    reply = desk.client.post(
        f"/api/hpc/jobs/{job}/claim", {"worker_id": desk.worker}, {"X-Worker-Session": "session-0"}
    )

    assert (reply.status, reply.kind) == (409, "session-revoked")


def test_a_daemon_without_a_session_works_as_ever(desk: Desk) -> None:
    desk.register(session=_session(1))

    assert desk.register().status == 200
    assert desk.claim(desk.create()).status == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/hpc/workers/register", {"worker_id": "one"}),
        ("/api/hpc/workers/one/heartbeat", None),
        ("/api/hpc/workers/one/sync", {}),
        ("/api/hpc/jobs/claim", {"worker_id": "one"}),
        ("/api/hpc/jobs/x/claim", {"worker_id": "one"}),
        ("/api/hpc/jobs/x/transition", {"worker_id": "one", "status": "FAILED"}),
        ("/api/hpc/jobs/x/complete", {"worker_id": "one", "status": "FAILED"}),
        ("/api/hpc/jobs/x/cancel", {"worker_id": "one"}),
    ],
)
def test_two_names_for_one_worker_are_refused(client: Client, path: str, body: object) -> None:
    reply = client.post(path, body, {"X-Worker-Id": "two"})

    assert (reply.status, reply.kind) == (400, "worker-mismatch")


def test_the_header_alone_names_the_worker(desk: Desk) -> None:
    desk.register()
    job = desk.create()

    reply = desk.client.post(f"/api/hpc/jobs/{job}/claim", headers={"X-Worker-Id": desk.worker})

    assert (reply.status, reply.json["worker_id"]) == (200, desk.worker)


def test_a_claim_for_nobody_is_refused(desk: Desk) -> None:
    assert desk.client.post(f"/api/hpc/jobs/{desk.create()}/claim", {}).status == 400


def test_one_sync_reports_claims_and_learns_what_to_stop(desk: Desk) -> None:
    running, cancelled = desk.job_in("SUBMITTED"), desk.job_in("STARTED")
    desk.client.post(f"/api/hpc/jobs/{cancelled}/cancel")
    waiting = desk.create()

    reply = desk.client.post(
        f"/api/hpc/workers/{desk.worker}/sync",
        {
            "reports": [
                {"job_id": running, "status": "STARTED"},
                {"job_id": cancelled, "status": "COMPLETED"},
                {"job_id": "nothing", "status": "STARTED"},
                {"job_id": running, "status": "WRONG"},
            ],
            "holding": [running, cancelled],
            "claim": 5,
        },
    )

    body: Any = reply.json
    assert [item["code"] for item in body["reports"]] == [200, 409, 404, 400]
    assert [item["id"] for item in body["claimed"]] == [waiting]
    assert body["stop"] == [{"job_id": cancelled, "reason": "cancelled", "status": "CANCELLED"}]
    assert desk.job(running)["status"] == "STARTED"


def test_a_sync_learns_of_a_deletion(desk: Desk) -> None:
    job = desk.job_in("STARTED")
    desk.client.call("DELETE", f"/api/hpc/jobs/{job}")

    body: Any = desk.client.post(f"/api/hpc/workers/{desk.worker}/sync", {"holding": [job]}).json

    assert [(stop["job_id"], stop["reason"]) for stop in body["stop"]] == [(job, "deleted")]


def test_a_sync_of_an_unknown_worker_is_not_found(client: Client) -> None:
    assert client.post("/api/hpc/workers/nobody/sync", {}).status == 404


def test_a_daemon_whose_session_was_taken_over_reports_but_claims_nothing(desk: Desk) -> None:
    job = desk.job_in("SUBMITTED")
    desk.register(session=_session(2))
    desk.create()

    reply = desk.client.post(
        f"/api/hpc/workers/{desk.worker}/sync",
        {"reports": [{"job_id": job, "status": "STARTED"}], "claim": 1},
        {"X-Worker-Session": "session-1"},
    )

    body: Any = reply.json
    assert [item["code"] for item in body["reports"]] == [200]
    assert (body["claimed"], body["no_claims"]["kind"]) == ([], "session-revoked")
