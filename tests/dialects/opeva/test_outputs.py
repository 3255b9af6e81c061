"""Logs, progress and results: what containers wrote, whatever they wrote."""

import os
import threading

import pytest

from cableferry.testing.servers import Reply
from tests.dialects.opeva.port import Port

NOT_YET = b"Logs not available yet. Job is still initializing or running.\n"


def write(port: Port, job: str, place: str, content: bytes) -> None:
    port.until(lambda: (port.share / "jobs" / job / "results").exists())
    path = port.share / "jobs" / job / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_a_log_is_passed_on_whatever_its_bytes(port: Port) -> None:
    job = port.at("running")
    content = b"\xff\xfe caf\xe9 \x00\n" * 100_000
    write(port, job, f"logs/{job}.log", content)

    for page in ("logs", "file-logs"):
        reply = port.get(f"/{page}/{job}")
        assert (200, True) == (reply.status, reply.body == content)
        assert reply.headers["content-type"].startswith("text/plain")


def test_before_there_is_a_log_an_active_job_says_so(port: Port) -> None:
    job = port.at("running")

    assert (200, NOT_YET) == ((reply := port.get(f"/logs/{job}")).status, reply.body)
    assert 404 == port.get(f"/file-logs/{job}").status
    port.say(job, "finished")
    assert 404 == port.get(f"/logs/{job}").status


def test_the_newest_log_stands_in_for_the_jobs_own(port: Port) -> None:
    job = port.at("running")
    write(port, job, "logs/empty.log", b"")
    write(port, job, "logs/run-7.log", b"from the run\n")

    assert b"from the run\n" == port.get(f"/logs/{job}").body


def test_a_log_is_followed_to_the_end_of_its_job(port: Port) -> None:
    job = port.at("running")
    write(port, job, f"logs/{job}.log", b"one\n")
    replies: list[Reply] = []
    reader = threading.Thread(target=lambda: replies.append(port.get(f"/logs/{job}?follow=true")))
    reader.start()
    with (port.share / "jobs" / job / "logs" / f"{job}.log").open("ab") as file:
        file.write(b"two\n")
    port.say(job, "finished")
    reader.join(20)

    assert [b"one\ntwo\n"] == [reply.body for reply in replies]


@pytest.mark.parametrize("target", ["link", "pipe", "folder"])
def test_only_a_file_is_a_log(port: Port, target: str) -> None:
    job = port.at("running")
    port.until(lambda: (port.share / "jobs" / job / "logs").exists())
    path = port.share / "jobs" / job / "logs" / f"{job}.log"
    match target:
        case "link":
            path.symlink_to("/etc/passwd")
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()

    assert NOT_YET == port.get(f"/logs/{job}").body


def test_a_piece_of_a_log_says_where_the_next_begins(port: Port) -> None:
    job = port.at("running")
    content = "".join(f"line {number} äöü\n" for number in range(1000)).encode()
    write(port, job, f"logs/{job}.log", content)

    read, offset = "", 0
    while piece := port.get(f"/logs-chunk/{job}?offset={offset}&max_bytes=1024").json:
        read += str(piece["text"])
        offset = int(str(piece["next_offset"]))
        if not piece["truncated"]:
            break

    assert (content.decode(), len(content)) == (read, offset)
    last = port.get(f"/logs-chunk/{job}?tail_lines=2").json
    assert ("line 998 äöü\nline 999 äöü\n", len(content), True) == (
        last["text"],
        last["next_offset"],
        last["truncated"],
    )


def test_a_piece_of_no_letters_is_shown_all_the_same(port: Port) -> None:
    job = port.at("running")
    assert (False, "") == ((piece := port.get(f"/logs-chunk/{job}").json)["available"], piece["text"])
    write(port, job, f"logs/{job}.log", b"\xff\xff\n")

    assert "\ufffd\ufffd\n" == port.get(f"/logs-chunk/{job}").json["text"]


@pytest.mark.parametrize("query", ["offset=-1", "tail_lines=0", "tail_lines=5001", "max_bytes=1", "max_bytes=x"])
def test_a_piece_that_makes_no_sense_is_refused(port: Port, query: str) -> None:
    assert 422 == port.get(f"/logs-chunk/{port.at('queued')}?{query}").status


BROKEN = {"none": None, "empty": b"", "half": b'{"step": 1', "no letters": b"\xff", "deep": b"[" * 100_000}
OUTPUTS = {
    "progress": ("progress/progress.json", {"progress": "No updates yet."}),
    "result": ("results/result.json", {"status": "pending", "message": "Result not ready yet."}),
}


@pytest.mark.parametrize("page", OUTPUTS)
@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_what_is_not_there_or_not_yet_whole_is_a_placeholder(port: Port, page: str, content: bytes | None) -> None:
    job = port.at("running")
    place, placeholder = OUTPUTS[page]
    if content is not None:
        write(port, job, place, content)

    assert (200, placeholder) == ((reply := port.get(f"/{page}/{job}")).status, reply.json)


@pytest.mark.parametrize("page", OUTPUTS)
def test_what_is_whole_is_passed_on_as_it_is(port: Port, page: str) -> None:
    job = port.at("running")
    write(port, job, OUTPUTS[page][0], b'{"kpi": 1.50, "b": [ 1 ]}')

    assert b'{"kpi": 1.50, "b": [ 1 ]}' == port.get(f"/{page}/{job}").body


def test_a_number_that_json_does_not_have_is_null(port: Port) -> None:
    job = port.at("finished")
    write(port, job, "results/result.json", b'{"kpi": NaN, "best": Infinity}')

    assert {"kpi": None, "best": None} == port.get(f"/result/{job}").json
