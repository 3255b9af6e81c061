"""A browser saves files by plain links, is never made to run them, and is told where an artifact came from."""

from typing import Any
from urllib.parse import quote, urlencode

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

    def ties(id: str) -> set[tuple[str, str, str]]:
        told: Any = browser.get(f"/api/ui/artifacts/{id}/provenance").json
        assert {source, made} == {each["id"] for each in told["artifacts"]}
        assert [job] == [each["id"] for each in told["jobs"]]
        return {(each["artifact_id"], each["job_id"], each["used_as"]) for each in told["ties"]}

    assert {(source, job, "input"), (made, job, "output")} == ties(made) == ties(source)
    assert browser.get("/api/ui/artifacts/nothing/provenance").status == 404


def test_a_folder_is_told_with_what_is_below_it_and_a_page_at_a_time(browser: Client, desk: Desk) -> None:
    made = desk.client.post("/api/hpc/artifacts", {"type": "blob"}).json["id"]
    for path in ("a/b/1.txt", "a/2.txt", "a/3.txt", "é/4.txt", "5_x.txt", "5ax.txt"):
        desk.client.call("PUT", f"/api/hpc/artifacts/{made}/files/{quote(path)}", b"12", {"Content-Type": "text/plain"})

    def tree(**query: Any) -> tuple[list[Any], list[str], str | None]:
        told: Any = browser.get(f"/api/ui/artifacts/{made}/tree?{urlencode(query)}").json
        folders = [(each["path"], each["files"], each["size_bytes"]) for each in told["folders"]]
        return folders, [each["path"] for each in told["files"]], told["after"]

    assert ([("a", 3, 6), ("é", 1, 2)], ["5_x.txt", "5ax.txt"], None) == tree()
    assert ([("a/b", 1, 2)], ["a/2.txt"], "a/2.txt") == tree(folder="a", limit=1)
    assert ([], ["a/3.txt"], None) == tree(folder="a", limit=1, after="a/2.txt")
    assert ([], ["5_x.txt"], None) == tree(q="_X")
    assert ([], [], None) == tree(folder="nowhere")
    assert browser.get("/api/ui/artifacts/nothing/tree").status == 404
