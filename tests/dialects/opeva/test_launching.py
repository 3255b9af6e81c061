"""Launching: where a configuration comes from, what it is called, and what is refused."""

import json

import pytest

from tests.dialects.opeva.port import Port


def text(port: Port, job: str) -> str:
    """The configuration that the job's command names, as its container sees it."""
    command = (port.poll() or {})["command"]
    assert command.endswith(f" --job_id {job}")
    return (port.share / command.split()[1].removeprefix("/data/")).read_text()


def saved(port: Port, name: str, content: str) -> None:
    reply = port.post("/experiment-config/create", {"file_name": name, "yaml_content": content})
    assert (200, name) == (reply.status, reply.json["file"])


def test_a_launch_says_what_it_made(port: Port) -> None:
    reply = port.post("/run-simulation", {"config": {"experiment": {"name": "My Demo", "run_name": "Run 1"}}})

    job = reply.json["job_id"]
    assert {"job_id": job, "status": "queued", "host": None, "job_name": "My_Demo-Run_1"} == reply.json
    waiting = [(each["job_id"], each["preferred_host"], each["require_host"]) for each in port.entries("/queue")]
    assert [(job, None, False)] == waiting


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"a": 1}, "UnnamedExperiment-UnnamedRun"),
        ({"experiment": {"name": "A"}}, "A-UnnamedRun"),
        ({"experiment": "no object"}, "UnnamedExperiment-UnnamedRun"),
        ({"experiment": {"name": 5, "run_name": ["x"]}}, "5-UnnamedRun"),
        ({"metadata": {"experiment_name": "M"}, "experiment": {"name": "A", "run_name": "R"}}, "M-R"),
        ({"experiment": {"name": "../../etc/päss", "run_name": "a b\n;rm"}}, ".._.._etc_p_ss-a_b_rm"),
    ],
)
def test_a_job_is_named_by_its_configuration(port: Port, config: dict[str, object], name: str) -> None:
    reply = port.post("/run-simulation", {"config": config})

    assert name == reply.json["job_name"]


@pytest.mark.parametrize("path", ["demo.yaml", "configs/demo.yaml", "/configs/demo.yaml", "./x/../demo.yaml"])
def test_a_configuration_is_named_with_or_without_its_folder(port: Port, path: str) -> None:
    saved(port, "demo.yaml", "experiment: {name: Kept}\n")

    job = port.post("/run-simulation", {"config_path": path}).json["job_id"]

    assert "configs/demo.yaml" == port.get(f"/job-info/{job}").json["config_path"]
    assert "experiment: {name: Kept}\n" == text(port, str(job))


def test_a_later_text_of_a_named_configuration_changes_no_queued_job(port: Port) -> None:
    saved(port, "moving.yaml", "value: 1\n")
    job = port.post("/run-simulation", {"config_path": "moving.yaml"}).json["job_id"]
    port.client.call("PUT", "/experiment-config/moving.yaml", {"yaml_content": "value: 2\n"})
    port.post("/run-simulation", {"config": {"value": 3}, "save_as": "moving.yaml"})

    assert "value: 1\n" == text(port, str(job))
    assert {"value": 3} == port.get("/experiment-config/moving.yaml").json


def test_a_file_that_a_person_put_there_is_launched(port: Port) -> None:
    (port.share / "configs" / "hand.yaml").write_text("experiment:\n  name: Hand\n")

    assert "Hand-UnnamedRun" == port.post("/run-simulation", {"config_path": "hand.yaml"}).json["job_name"]


def test_the_configuration_of_a_job_is_not_written_over(port: Port) -> None:
    job = port.launch()

    again = port.post("/run-simulation", {"config": {"a": 1}, "save_as": f"{job}.yaml"})
    put = port.client.call("PUT", f"/experiment-config/{job}.yaml", {"config": {"a": 1}})
    gone = port.client.call("DELETE", f"/experiment-config/{job}.yaml")

    assert [409, 409, 409] == [again.status, put.status, gone.status]


def test_fields_that_nobody_knows_are_ignored(port: Port) -> None:
    assert port.launch(image_tag="x", submitted_by="y", nonsense=[1])


BAD = [
    ({}, 400, "Missing config or config_path"),
    ({"config": {}}, 400, "Missing config or config_path"),
    ({"config": None, "config_path": ""}, 400, "Missing config or config_path"),
    ({"config_path": "../demo.yaml"}, 400, "Invalid config_path"),
    ({"config_path": "a/../../../etc/passwd"}, 400, "Invalid config_path"),
    ({"config_path": "configs/.hidden"}, 400, "Invalid config_path"),
    ({"config_path": "configs/a\u0000b"}, 400, "Invalid config_path"),
    ({"config_path": "/"}, 400, "Invalid config_path"),
    ({"config_path": "/etc/passwd"}, 404, "not found"),
    ({"config_path": "missing.yaml"}, 404, "Config file not found: configs/missing.yaml"),
    ({"config": {"a": 1}, "save_as": "../x.yaml"}, 400, "Invalid file name"),
    ({"config": {"a": 1}, "save_as": "a/b.yaml"}, 400, "Invalid file name"),
    ({"config": {"a": 1}, "save_as": "/etc/x.yaml"}, 400, "Invalid file name"),
    ({"config": {"a": 1}, "save_as": "a\\b"}, 400, "Invalid file name"),
    ({"config": {"a": 1}, "save_as": ".."}, 400, "Invalid file name"),
    ({"config": {"a": 1}, "save_as": "x" * 300}, 400, "Invalid file name"),
    ({"config": [1]}, 422, "an object"),
    ({"config": "text"}, 422, "an object"),
    ({"config_path": 5}, 422, "config_path"),
    ({"config": {"a": "x" * 1_100_000}}, 422, "larger than"),
]


@pytest.mark.parametrize(("body", "status", "said"), BAD, ids=lambda value: str(value)[:40])
def test_a_launch_that_makes_no_sense_is_refused(port: Port, body: object, status: int, said: str) -> None:
    reply = port.post("/run-simulation", body)

    assert (status, True) == (reply.status, said in json.dumps(reply.json["detail"]))


def test_a_deep_configuration_is_refused(port: Port) -> None:
    deep = b'{"config":' + b'{"a":' * 200 + b"1" + b"}" * 200 + b"}"
    deeper = b'{"config":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}"

    assert [422, 422] == [port.post("/run-simulation", body).status for body in (deep, deeper)]


LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 30))
MERGES = "m0: &m0 {a: 1}\n" + "".join(f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}, *m{n - 1}]}}\n" for n in range(1, 30))
UNREADABLE = {
    "a billion laughs": LAUGHS,
    "a billion merges": MERGES,
    "an alias of itself": "a: &a [*a]\n",
    "an alias of nothing": "a: *nobody\n",
    "a list": "- 1\n- 2\n",
    "a word": "hello\n",
    "nothing": "",
    "a code to run": "a: !!python/object/apply:os.system [ls]\n",
    "two documents": "a: 1\n---\nb: 2\n",
    "a bracket too few": "a: [1\n",
    "a tab": "a:\n\t- 1\n",
    "too deep": "[" * 3000,
    "a number of many digits": "a: " + "9" * 5000 + "\n",
    "too large": "a: " + "x" * 1_100_000 + "\n",
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_a_configuration_that_cannot_be_trusted_is_refused(port: Port, content: str) -> None:
    path = port.share / "configs" / "bad.yaml"
    path.write_text(content)

    launched = port.post("/run-simulation", {"config_path": "bad.yaml"})
    shown = port.get("/experiment-config/bad.yaml")
    created = port.post("/experiment-config/create", {"file_name": "new.yaml", "yaml_content": content})

    assert [422, 422, 422] == [launched.status, shown.status, created.status]


def test_a_file_of_fifty_megabytes_is_not_read(port: Port) -> None:
    with (port.share / "configs" / "huge.yaml").open("wb") as file:
        file.truncate(50 * 1024 * 1024)

    assert 422 == port.post("/run-simulation", {"config_path": "huge.yaml"}).status


def test_a_text_in_no_known_letters_is_refused(port: Port) -> None:
    (port.share / "configs" / "latin.yaml").write_bytes(b"a: \xe9\n")

    assert 422 == port.post("/run-simulation", {"config_path": "latin.yaml"}).status


def test_a_link_leads_nowhere(port: Port) -> None:
    secret = port.share.parent / "secret.yaml"
    secret.write_text("password: 1\n")
    for name, target in (("link.yaml", secret), ("folder", port.share.parent)):
        if not (port.share / "configs" / name).is_symlink():
            (port.share / "configs" / name).symlink_to(target)

    assert [404, 404] == [
        port.post("/run-simulation", {"config_path": path}).status for path in ("link.yaml", "folder/secret.yaml")
    ]


def test_a_launch_that_is_refused_leaves_nothing_behind(port: Port) -> None:
    (port.share / "configs" / "list.yaml").write_text("- 1\n")
    before = set((port.share / "jobs").iterdir())

    assert 422 == port.post("/run-simulation", {"config_path": "list.yaml"}).status
    assert set() == set((port.share / "jobs").iterdir()) - before


def test_a_wrong_method_is_refused_as_the_contract_writes_refusals(port: Port) -> None:
    for method, path in (("GET", "/run-simulation"), ("DELETE", "/jobs"), ("PUT", "/api/agent/next-job")):
        refused = port.client.call(method, path)
        assert (405, "application/json") == (refused.status, refused.headers["content-type"])
        assert ["detail"] == list(refused.json)


def test_an_empty_host_is_none(port: Port) -> None:
    launched = port.post("/run-simulation", {"config": {"a": 1}, "target_host": "", "save_as": ""})
    requeued = port.ops(str(launched.json["job_id"]), "requeue", preferred_host="")

    assert (200, None, 200) == (launched.status, launched.json["host"], requeued.status)
    assert (None, False) == tuple(port.entries("/queue")[-1][name] for name in ("preferred_host", "require_host"))
