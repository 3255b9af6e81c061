"""A browser saves files by plain links, is never made to run them, and is told where an artifact came from."""

from typing import Any

import pytest

from cableferry.testing.servers import Client, Running
from tests.dialects.desk import Desk

PAGE = b"<script>alert(1)</script>"


@pytest.fixture
def browser(seed_server: Running) -> Client:
    """It sends no header of the protocol."""
    return seed_server.client({"X-EMX2-API-Version": None, "X-Request-Id": None, "X-Timestamp": None})


def _artifact(desk: Desk, path: str = "page.html", content: bytes = PAGE) -> str:
    made = desk.client.post("/api/hpc/artifacts", {"type": "blob", "name": "made"}).json["id"]
    sent = desk.client.call("PUT", f"/api/hpc/artifacts/{made}/files/{path}", content, {"Content-Type": "text/html"})
    assert sent.status == 201
    assert desk.client.post(f"/api/hpc/artifacts/{made}/commit", {}).status == 200
    return str(made)


def test_a_plain_link_saves_a_file_and_no_page_of_others_is_shown(browser: Client, desk: Desk) -> None:
    answer = browser.get(f"/api/ui/artifacts/{_artifact(desk)}/files/page.html")

    assert (200, PAGE) == (answer.status, answer.body)
    assert answer.headers["content-disposition"].startswith('attachment; filename="page.html"')
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_link_can_be_gone_on_with_where_it_broke_off(browser: Client, desk: Desk) -> None:
    place = f"/api/ui/artifacts/{_artifact(desk)}/files/page.html"

    answer = browser.get(place, {"Range": "bytes=8-"})

    assert (206, PAGE[8:]) == (answer.status, answer.body)
    assert browser.get(f"{place}x").status == 404


def test_an_artifact_says_which_job_made_it_from_what(browser: Client, desk: Desk) -> None:
    source, made = _artifact(desk), _artifact(desk)
    desk.register()
    job = desk.create(inputs={"page": source})
    desk.claim(job)
    for status in ("SUBMITTED", "STARTED"):
        assert desk.report(job, status).status == 200
    assert desk.report(job, "COMPLETED", output_artifact_id=made).status == 200

    def uses(id: str) -> list[dict[str, Any]]:
        items: Any = browser.get(f"/api/ui/artifacts/{id}/provenance").json["items"]
        return list(items)

    assert [("output", job, [source])] == [
        (each["used_as"], each["job"]["id"], [taken["id"] for taken in each["inputs"]]) for each in uses(made)
    ]
    assert [("input", job, [])] == [(each["used_as"], each["job"]["id"], each["inputs"]) for each in uses(source)]
    assert browser.get("/api/ui/artifacts/nothing/provenance").status == 404
