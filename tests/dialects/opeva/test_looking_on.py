"""Jobs of the worker contract where people look on who may look at all jobs: the dashboard's lists, and GraphQL."""

import contextlib
import http.client

from msgspec import json

from cableferry.testing.servers import Client
from tests.dialects.opeva.port import SECONDS, Port

QUESTION = {
    "query": "{ HpcJobs(orderby: {created_at: DESC}, limit: 1000) { id status { name } worker_id { worker_id }"
    " transitions { to_status { name } } } HpcJobs_agg { count } }"
}
GRAPHQL = "/api/hpc/graphql"


def test_the_list_of_jobs_is_that_of_one_contract(port: Port) -> None:
    job = port.at("running")

    theirs = port.get("/api/ui/jobs?contract=opeva&limit=200").json
    usual = port.get("/api/ui/jobs?limit=200").json
    overview = port.get("/api/ui/overview?contract=opeva").json

    assert ["emx2", "opeva"] == theirs["contracts"] == usual["contracts"]
    assert {"id": job, "status": "STARTED"}.items() <= theirs["items"][0].items()  # type: ignore[index]  # of the answer
    assert [] == usual["items"]
    assert theirs["counts"]["STARTED"] == overview["counts"]["STARTED"] > 0  # type: ignore[index]  # of the answer
    assert 400 == port.get("/api/ui/jobs?contract=nobody").status


def test_a_job_of_any_contract_is_shown_and_says_whose_it_is(port: Port) -> None:
    job = port.at("running")
    port.say(job, "running", container_id="c1", details={"slurm": 7})
    usual = Client(port.client.port).post("/api/hpc/jobs", {"processor": "echo"}).json["id"]

    shown, other = (port.get(f"/api/ui/jobs/{each}").json for each in (job, usual))

    assert ("opeva", "emx2") == (shown["contract"], other["contract"])
    assert "worker-a" in str(shown["explanation"])
    assert ["PENDING", "CLAIMED", "STARTED", "STARTED"] == [each["to_status"] for each in shown["transitions"]]  # type: ignore[attr-defined]  # of the answer
    assert 404 == port.get("/api/ui/jobs/nope").status


def test_a_list_of_one_contract_is_followed(port: Port) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port.client.port, timeout=SECONDS)
    connection.request("GET", "/api/ui/jobs/events?contract=opeva")
    with contextlib.closing(connection), connection.getresponse() as events:
        assert any(line == b"event: jobs\n" for line in events)
        job = port.launch("worker-b")
        assert any(job.encode() in line for line in events)


def test_a_question_is_about_the_jobs_of_one_contract(port: Port) -> None:
    job = port.at("running")

    theirs = port.post(f"{GRAPHQL}?contract=opeva", QUESTION).json["data"]
    usual = port.post(GRAPHQL, QUESTION).json["data"]
    asked = port.get(f"{GRAPHQL}?contract=opeva&query=%7BHpcWorkers%7Bworker_id%7D%7D").json["data"]

    assert {"id": job, "worker_id": {"worker_id": "worker-a"}}.items() <= theirs["HpcJobs"][0].items()  # type: ignore[index]  # of the answer
    assert "STARTED" in str(theirs["HpcJobs"][0]["transitions"])  # type: ignore[index]  # of the answer
    assert job not in str(json.encode(usual))
    assert "worker-a" in str(asked)
    assert 400 == port.post(f"{GRAPHQL}?contract=nobody", QUESTION).status
