"""What is asked in GraphQL is what is in the database, on both databases, in both of the shapes that clients know."""

from collections import Counter
from typing import Any

import pytest

from cableferry.core.jobs import State
from cableferry.wire.emx2.words import WORDS
from tests.dialects.graphql.harbour import Harbour

SEED = "{ id type { name } status { name } }"
LATEST = "{ id name type status { name } }"


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (SEED, {"id": "a2", "type": {"name": "tabular"}, "status": {"name": "COMMITTED"}}),
        (LATEST, {"id": "a2", "name": None, "type": "tabular", "status": {"name": "COMMITTED"}}),
        ("{ id type status }", {"id": "a2", "type": "tabular", "status": "COMMITTED"}),
        ("{ kind: type }", {"kind": "tabular"}),
        ("{ ...F } fragment F on HpcArtifacts { type }", {"type": "tabular"}),
        ("{ ... on HpcArtifacts { type { name } } }", {"type": {"name": "tabular"}}),
        ("", "a2"),
    ],
    ids=["seed", "latest", "plain", "alias", "fragment", "inline fragment", "no selection"],
)
def test_the_output_of_a_job_is_told_in_every_shape(filled: Harbour, shape: str, expected: object) -> None:
    selection, _, fragment = shape.partition(" fragment ")
    asked = (
        f'query {{ HpcJobs(filter: {{id: {{equals: "{filled.jobs[-1].id}"}}}}) {{ output_artifact_id {selection} }} }}'
    )

    data = filled.data(f"{asked} fragment {fragment}" if fragment else asked)

    assert {"HpcJobs": [{"output_artifact_id": expected}]} == data


def test_a_job_is_told_whole(filled: Harbour) -> None:
    running = next(job for job in filled.jobs if job.state is State.RUNNING)

    (job,) = filled.data(
        """query ($id: String!) { HpcJobs(filter: {id: {equals: [$id]}}) {
        id status processor profile priority submit_user worker_id { worker_id hostname capabilities { processor } }
        parameters inputs progress phase attempt epoch created_at completed_at
        input_artifacts { id files { path size_bytes } }
        transitions { id job_id sequence from_status to_status { name } worker_id progress } } }""",
        id=running.id,
    )["HpcJobs"]

    history = job.pop("transitions")
    assert [(1, None, "PENDING"), (2, "PENDING", "CLAIMED")] == [_step(each) for each in history[:2]]
    assert 0.5 == history[-1]["progress"]
    assert {f"{running.id}/{each['sequence']}" for each in history} == {each["id"] for each in history}
    assert {running.id} == {each["job_id"] for each in history}
    assert ["a0", "a1"] == [artifact["id"] for artifact in job.pop("input_artifacts")]
    assert job == {
        "id": running.id, "status": "STARTED", "processor": "embed", "profile": "gpu", "priority": 0,
        "submit_user": "mia",
        "worker_id": {"worker_id": "w1", "hostname": "head-1", "capabilities": [{"processor": "embed"}]},
        "parameters": {"n": 3}, "inputs": ["a0", "a1"], "progress": 0.5, "phase": "half", "attempt": 1, "epoch": 1,
        "created_at": running.created_at.isoformat().replace("+00:00", "Z"), "completed_at": None,
    }  # fmt: skip


def _step(transition: dict[str, Any]) -> tuple[int, str | None, str]:
    return transition["sequence"], transition["from_status"], transition["to_status"]["name"]


@pytest.mark.parametrize(
    "filter",
    [
        '{status: {name: {equals: "STARTED"}}}',
        '{status: {name: {equals: ["STARTED", "STARTED"]}}}',
        '{status: {equals: "STARTED"}}',
        '{status: {equals: {name: "STARTED"}}}',
        '{status: {equals: [{name: "STARTED"}]}}',
    ],
)
def test_a_status_is_asked_for_in_every_way_that_clients_write_it(filled: Harbour, filter: str) -> None:
    data = filled.data(f"{{ HpcJobs(filter: {filter}) {{ status }} HpcJobs_agg(filter: {filter}) {{ count exists }} }}")

    assert {"HpcJobs": [{"status": "STARTED"}], "HpcJobs_agg": {"count": 1, "exists": True}} == data


@pytest.mark.parametrize(
    ("table", "filter", "expected"),
    [
        ("HpcJobs", '{worker_id: {worker_id: {equals: "w1"}}}', 7),
        ("HpcJobs", '{worker_id: {equals: {worker_id: "w2"}}}', 0),
        ("HpcJobs", '{output_artifact_id: {id: {equals: "a2"}}}', 1),
        ("HpcJobs", '{created_at: {between: ["2026-03-01T12:06:30Z", null]}}', 2),
        ("HpcJobs", '{created_at: {between: [null, "2026-03-01T12:01:30"]}}', 1),
        ("HpcJobs", '{processor: {equals: ["embed", "align"]}, profile: {equals: "gpu"}}', 8),
        ("HpcJobs", '{id: {equals: "unknown"}}', 0),
        ("HpcJobs", "{id: {equals: []}}", 0),
        ("HpcJobs", "{id: null, status: {name: null}}", 8),
        ("HpcJobTransitions", '{to_status: {name: {equals: "COMPLETED"}}}', 2),
        ("HpcJobTransitions", '{job_id: {id: {equals: "unknown"}}}', 0),
        ("HpcWorkers", '{hostname: {like: "HEAD"}}', 2),
        ("HpcArtifacts", '{name: {like: "ABLE"}, residence: {name: {equals: "MANAGED"}}}', 2),
        ("HpcArtifacts", '{type: {equals: "tabular"}, status: {name: {equals: "COMMITTED"}}}', 3),
        ("HpcArtifactFiles", '{artifact_id: {id: {equals: ["a0", "a2"]}}}', 4),
        ("HpcArtifactFiles", '{role: {name: {equals: "primary"}}}', 3),
    ],
)
def test_a_filter_leaves_what_fits(filled: Harbour, table: str, filter: str, expected: int) -> None:
    data = filled.data(f"{{ {table}(filter: {filter}) {{ cursor }} {table}_agg(filter: {filter}) {{ count }} }}")

    assert (expected, {"count": expected}) == (len(data[table]), data[f"{table}_agg"])


def test_a_filter_may_come_as_a_variable(filled: Harbour) -> None:
    wanted = {"status": {"equals": [{"name": "COMPLETED"}]}, "created_at": {"between": ["2026-03-01", None]}}

    data = filled.data("query ($f: HpcJobsFilter) { HpcJobs(filter: $f) { status } }", f=wanted)

    assert [{"status": WORDS[State.SUCCEEDED]}] * 2 == data["HpcJobs"]


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
@pytest.mark.parametrize(
    ("table", "order"),
    [
        ("HpcJobs", "created_at"), ("HpcJobs", "updated_at"), ("HpcJobTransitions", "timestamp"),
        ("HpcJobTransitions", "job_id"), ("HpcWorkers", "worker_id"), ("HpcArtifacts", "size_bytes"),
        ("HpcArtifacts", "name"), ("HpcArtifactFiles", "path"), ("HpcArtifactFiles", "size_bytes"),
    ],
)  # fmt: skip
def test_pages_by_cursor_and_by_offset_join_to_the_whole(
    filled: Harbour, table: str, order: str, direction: str
) -> None:
    def page(rest: str) -> list[str]:
        rows = filled.data(f"{{ {table}(orderby: {{{order}: {direction}}}{rest}) {{ cursor }} }}")[table]
        return [row["cursor"] for row in rows]

    whole = page("")
    by_cursor = page(", limit: 2")
    while more := page(f', limit: 2, after: "{by_cursor[-1]}"'):
        by_cursor += more

    assert whole == by_cursor
    assert whole == [cursor for start in range(0, len(whole), 2) for cursor in page(f", limit: 2, offset: {start}")]
    assert len(set(whole)) == len(whole) > 1


def test_rows_lead_to_what_belongs_to_them(filled: Harbour) -> None:
    data = filled.data(
        """{ HpcWorkers { worker_id jobs(limit: 9) { status } }
        HpcArtifacts(filter: {id: {equals: "a2"}}) { uses { used_as job { status } }
        files(after: "part-0.csv") { path } }
        HpcArtifactFiles(filter: {path: {like: "part-2"}}) { artifact_id { id } role { name } size_bytes is_stored }
        HpcJobTransitions(limit: 1) { job_id { id status } } }"""
    )

    assert {"w1": 3, "w2": 0} == {worker["worker_id"]: len(worker["jobs"]) for worker in data["HpcWorkers"]}
    assert [{"used_as": "output", "job": {"status": "COMPLETED"}}] == data["HpcArtifacts"][0]["uses"]
    assert [{"path": "part-1.csv"}, {"path": "part-2.csv"}] == data["HpcArtifacts"][0]["files"]
    assert [{"artifact_id": {"id": "a2"}, "role": None, "size_bytes": 2**40 + 2, "is_stored": False}] == data[
        "HpcArtifactFiles"
    ]
    assert {"job_id": {"id": filled.jobs[0].id, "status": "PENDING"}} == data["HpcJobTransitions"][0]


EVERYTHING = """{ HpcJobs(limit: %d) { id worker_id { worker_id jobs { id } } output_artifact_id { id files { path } }
log_artifact_id { id } input_artifacts { id uses { job { id } } } transitions { id worker_id { hostname }
job_id { id } } } HpcArtifactFiles { artifact_id { name } } }"""


def test_the_number_of_statements_does_not_grow_with_the_rows(filled: Harbour) -> None:
    answer, asked = filled.ask(EVERYTHING % 100)

    assert len(filled.jobs) == len(answer["data"]["HpcJobs"])
    # once for each level at which the question asks for it
    assert 2 >= max(Counter(asked).values())
