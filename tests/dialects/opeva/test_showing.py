"""The shared folder shows what the database knows, whatever becomes of the folder."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cableferry.testing import processes
from cableferry.testing.servers import Client
from tests.cli.ferry import ferry
from tests.dialects.opeva import port as ports
from tests.dialects.opeva.port import NO_HEADERS, Port


def test_every_file_says_what_the_api_says(port: Port) -> None:
    job = port.launch("worker-a")
    port.until(lambda: port.file("queue", f"{job}.json"))
    assert {"job_id": job, "preferred_host": "worker-a", "require_host": True} == {
        name: value for name, value in port.file("queue", f"{job}.json").items() if name != "enqueued_at"
    }

    port.poll()
    port.say(job, "running", container_id="c1", details={"a": 1})
    port.until(lambda: port.file("jobs", job, "status.json") == port.status(job))
    port.until(lambda: port.file("jobs", job, "job_info.json") == port.get(f"/job-info/{job}").json)
    port.until(lambda: port.file("queue", f"{job}.json") is None)


def test_a_stop_is_seen_by_a_worker_that_reads_files(port: Port) -> None:
    job = port.at("running")
    port.post(f"/stop/{job}")

    port.until(lambda: (port.file("jobs", job, "status.json") or {}).get("status") == "stop_requested")
    assert True is port.file("jobs", job, "status.json")["stop_requested"]


def test_what_a_worker_adds_to_the_info_stays(port: Port) -> None:
    job = port.at("running")
    info = port.share / "jobs" / job / "job_info.json"
    port.until(info.exists)
    info.write_text(json.dumps({"mlflow_run_id": "r7", "job_id": "other"}))
    port.say(job, "finished", exit_code=0)

    port.until(lambda: port.file("jobs", job, "job_info.json").get("exit_code") == 0)
    shown = port.file("jobs", job, "job_info.json")
    assert ("r7", job) == (shown["mlflow_run_id"], shown["job_id"])


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Port]:
    """A server of one test, whose folder may come to harm."""
    with ports.running(ports.settings_in(tmp_path)) as port:
        yield port


def test_a_damaged_job_harms_no_other(own: Port) -> None:
    broken = own.at("running")
    own.until(lambda: own.file("jobs", broken, "job_info.json"))
    for name in ("job_info.json", "status.json"):
        (own.share / "jobs" / broken / name).write_text("{half")
    odd = own.launch()
    own.until(lambda: own.file("queue", f"{odd}.json"))
    shutil.rmtree(own.share / "jobs" / odd)
    (own.share / "jobs" / odd).symlink_to("/etc")
    (own.share / "queue" / "junk.json").write_text("{")
    own.post(f"/stop/{odd}")

    fine = own.launch()
    own.until(lambda: (own.file("jobs", fine, "status.json") or {}).get("status") == "queued")
    assert {broken, odd, fine} == {each["job_id"] for each in own.entries("/jobs")}
    assert {"status": "ok"} == own.get("/health").json
    own.say(broken, "finished")
    own.until(lambda: b'"finished"' in (own.share / "jobs" / broken / "status.json").read_bytes())


def test_a_folder_that_is_gone_is_told_and_what_it_missed_follows(own: Port) -> None:
    own.until(lambda: (own.share / "queue").exists())
    own.share.rename(own.share.with_name("gone"))
    own.share.write_text("no folder")
    own.until(lambda: own.get("/health").json["status"] == "degraded")

    job = own.launch()
    assert (job, 200) == ((own.poll() or {})["job_id"], own.say(job, "running").status)
    assert 200 == own.post("/experiment-config/create", {"file_name": "a.yaml", "config": {"a": 1}}).status
    assert {"a": 1} == own.get("/experiment-config/a.yaml").json
    assert b'["a.yaml"]' == own.get("/experiment-configs").body
    assert 200 == own.post("/run-simulation", {"config_path": "a.yaml"}).status
    assert 503 == own.get(f"/progress/{job}").status
    assert own.get("/health").json["detail"]

    own.share.unlink()
    own.until(lambda: own.get("/health").json["status"] == "ok")
    own.until(lambda: (own.file("jobs", job, "status.json") or {}).get("status") == "running")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with little room."""
    folder = tmp_path / "share"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("this machine lets us mount nothing")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("ailment", ["full", "read-only"])
def test_a_folder_that_cannot_be_written_keeps_nobody_from_working(small: Path, tmp_path: Path, ailment: str) -> None:
    with ports.running(ports.settings_in(tmp_path)) as port:
        before = port.at("running")
        port.until(lambda: (port.file("jobs", before, "status.json") or {}).get("status") == "running")
        if ailment == "full":
            (small / "ballast").write_bytes(b"x" * 300_000)
            with pytest.raises(OSError, match="space"):
                (small / "more").write_bytes(b"x" * 300_000)
        else:
            subprocess.run(["mount", "-o", "remount,ro", small], check=True)

        port.until(lambda: port.get("/health").json["status"] == "degraded")
        job = port.launch("worker-b")
        assert job == (port.poll("worker-b") or {})["job_id"]
        assert [200, 200] == [port.say(job, "running", "worker-b").status, port.say(before, "finished").status]
        assert ("running", "finished") == (port.word(job), port.word(before))
        # what stands there is old or new, never half
        assert port.file("jobs", before, "status.json")["status"] in ("running", "finished")


SETTINGS = {"AVAILABLE_HOSTS": "worker-a,worker-b"}


def test_the_folder_is_rebuilt_by_one_command(tmp_path: Path) -> None:
    share = tmp_path / "share"
    settings = {**SETTINGS, "VM_SHARED_DATA": str(share)}
    with processes.running(tmp_path, settings=settings) as server:
        port = Port(Client(server.port, NO_HEADERS), share)
        queued, running = port.launch("worker-b"), port.at("running")
        port.post("/experiment-config/create", {"file_name": "kept.yaml", "yaml_content": "a: 1\n"})
        named = str(port.post("/run-simulation", {"config_path": "kept.yaml"}).json["job_id"])
        port.until(lambda: port.file("jobs", named, "status.json"))
    shutil.rmtree(share)

    done = ferry(tmp_path, "opeva", "rebuild", "--data-dir", str(tmp_path), "--json", more=settings)

    assert (0, 3) == (done.code, json.loads(done.out)["jobs"]), done.err
    assert ("queued", "running") == tuple(port.file("jobs", job, "status.json")["status"] for job in (queued, running))
    assert (
        "a: 1\n"
        == (share / "configs" / "kept.yaml").read_text()
        == (share / "jobs" / named / "config.yaml").read_text()
    )
    assert "name: Demo" in (share / "configs" / f"{queued}.yaml").read_text()
    assert {queued, running, named} == set(port.file("job_track.json"))
    assert {f"{queued}.json", f"{named}.json"} == {path.name for path in (share / "queue").iterdir()}


def test_the_folder_is_rebuilt_beside_a_running_server(tmp_path: Path) -> None:
    share = tmp_path / "share"
    settings = {**SETTINGS, "VM_SHARED_DATA": str(share)}
    with processes.running(tmp_path, settings=settings) as server:
        port = Port(Client(server.port, NO_HEADERS), share)
        made = [port.launch() for _ in range(20)]
        port.until(lambda: all(port.file("jobs", job, "status.json") for job in made))
        for job in made:
            (share / "jobs" / job / "status.json").unlink()

        done = ferry(tmp_path, "opeva", "rebuild", "--data-dir", str(tmp_path), "--json", more=settings)

        assert (0, 20) == (done.code, json.loads(done.out)["jobs"]), done.err
        assert {"queued"} == {port.file("jobs", job, "status.json")["status"] for job in made}


def test_a_tree_of_another_server_is_taken_over(tmp_path: Path) -> None:
    share = tmp_path / "share"
    _a_tree(share)
    settings = {**SETTINGS, "VM_SHARED_DATA": str(share)}
    flags = ("--data-dir", str(tmp_path), "--json")
    with processes.running(tmp_path, settings=settings):
        pass

    first = ferry(tmp_path, "opeva", "import", *flags, more=settings)
    again = ferry(tmp_path, "opeva", "import", *flags, more=settings)

    said = json.loads(first.out)
    assert {"q1", "r1", "s1", "f1", "d1", "c1", "t1", "dup1"} == set(said["taken"])
    assert {"broken", "nowhere"} == set(said["unreadable"])
    assert (said["taken"], []) == (json.loads(again.out)["known"], json.loads(again.out)["taken"])
    with processes.running(tmp_path, settings=settings) as server:
        port = Port(Client(server.port, NO_HEADERS), share)
        shown = {each["job_id"]: each["status"] for each in port.entries("/jobs")}
        assert {
            "q1": "queued", "r1": "running", "s1": "stop_requested", "f1": "finished", "d1": "dispatched",
            "c1": "canceled", "t1": "stopped", "dup1": "failed",
        } == shown  # fmt: skip
        assert ("c-7", 0) == (port.get("/job-info/f1").json["container_id"], port.status("f1")["exit_code"])
        assert None is port.poll("worker-a")
        got = port.poll("worker-b")
        assert got is not None
        assert ("q1", "configs/demo.yaml") == (got["job_id"], got["config_path"])
        assert [200, 409] == [port.say("r1", "running").status, port.say("r1", "running", "worker-b").status]
        port.until(lambda: (share / "jobs" / "q1" / "config.yaml").exists())
        assert "experiment: {name: Old}\n" == (share / "jobs" / "q1" / "config.yaml").read_text()


def _a_tree(share: Path) -> None:
    (share / "configs").mkdir(parents=True)
    (share / "queue").mkdir()
    (share / "configs" / "demo.yaml").write_text("experiment: {name: Old}\n")
    track = {}
    words = {
        "q1": "queued", "r1": "running", "s1": "stop_requested", "f1": "finished", "d1": "dispatched",
        "c1": "canceled", "t1": "stopped", "dup1": "failed", "nowhere": "lost", "..": "queued",
    }  # fmt: skip
    for id_, word in words.items():
        track[id_] = {"job_id": id_, "job_name": "Old-1", "config_path": "configs/demo.yaml", "status": word}
        if id_ == "..":
            continue
        folder = share / "jobs" / id_
        folder.mkdir(parents=True)
        info = {"job_id": id_, "job_name": "Old-1", "config_path": "configs/demo.yaml", "target_host": "worker-a"}
        (folder / "job_info.json").write_text(json.dumps({**info, "container_id": "c-7", "exit_code": 0}))
        (folder / "status.json").write_text(json.dumps({"job_id": id_, "status": word, "worker_id": "worker-a"}))
    (share / "queue" / "q1.json").write_text('{"job_id":"q1","preferred_host":"worker-b","require_host":true}')
    (share / "jobs" / "broken").mkdir()
    (share / "jobs" / "broken" / "status.json").write_text("{half")
    (share / "job_track.json").write_text(json.dumps(track))
