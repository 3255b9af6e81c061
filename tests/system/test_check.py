"""What `check` finds on a real cluster, from the head node and from the nodes."""

import json

import pytest

from tests.system.cluster_daemon import ClusterDaemon

pytestmark = pytest.mark.slurm


def _rows(daemon: ClusterDaemon, *options: str) -> list[dict[str, object]]:
    said = daemon.run("check", "--json", *options)
    rows: list[dict[str, object]] = json.loads(said.stdout)["items"]
    assert (said.returncode == 0) is all(row["is_ok"] for row in rows), said.stderr
    assert all(row["advice"] for row in rows if not row["is_ok"]), rows
    return rows


def _bad(rows: list[dict[str, object]]) -> list[str]:
    """But for the file of these tests, which root has written."""
    return [f"{row['what']}: {row['found']}" for row in rows if not row["is_ok"] and row["what"] != "configuration"]


def test_check_tells_good_profiles_from_bad_ones(daemon: ClusterDaemon) -> None:
    daemon.offer("good", script="true")
    daemon.offer("nowhere", script="true", partition="none")
    daemon.offer("missing", sif_image="/no/such.sif", container_entrypoint="/x")
    rows = _rows(daemon)

    bad = ["partition none", "profile nowhere:small", "profile missing:small"]
    assert bad == [row["what"] for row in rows if not row["is_ok"] and row["what"] != "configuration"]
    assert "profile good:small" in [row["what"] for row in rows if row["is_ok"]]


def test_a_good_site_is_good_from_its_nodes_too_and_nothing_is_left_there(daemon: ClusterDaemon) -> None:
    daemon.offer("host", script="true")
    image = {"sif_image": daemon.cluster.image, "container_entrypoint": ["/bin/true"]}
    daemon.offer("inside", **image, partition="gpu", bind_paths=["/usr/share:/data:ro"])
    rows = _rows(daemon, "--probe")

    assert [] == _bad(rows)
    told = {str(row["what"]): str(row["found"]) for row in rows}
    assert "up, nodes:" in told["partition gpu"]
    assert f"cluster {daemon.cluster.name}, MinJobAge 300" in told["settings"]
    assert told["node of gpu"].startswith(f"{daemon.slurm('hostname', '-s').strip()} sees {daemon.cluster.image}")
    assert "apptainer version" in told["container program, node of gpu"]
    assert "writes" in next(str(row["found"]) for row in rows if row["what"] == "node of the default partition")
    assert [] == list((daemon.folder / "jobs" / "runs").iterdir())


def test_what_is_missing_is_named_with_where_it_is_missing(daemon: ClusterDaemon) -> None:
    image = {"sif_image": daemon.cluster.image, "container_entrypoint": ["/bin/true"]}
    daemon.offer("bound", **image, bind_paths=["/no/such:/data"])
    daemon.offer("held", script="true", partition="cpu", sbatch_args=[], reservation="none")
    from_here, from_there = _bad(_rows(daemon)), _bad(_rows(daemon, "--probe", "--probe-seconds", "30"))

    assert "binds of bound:small: /no/such not here" in from_here
    host = daemon.slurm("hostname", "-s").strip()
    assert f"node of the default partition: {host} cannot read /no/such, what bound:small binds" in from_there
    assert any(row.startswith("node of cpu/none: ") and "reservation" in row for row in from_there), from_there


def test_a_partition_without_nodes_is_bad_and_its_job_is_not_waited_for(daemon: ClusterDaemon) -> None:
    daemon.offer("gpu", script="true", partition="gpu")
    daemon.slurm("scontrol", "update", f"nodename={daemon.cluster.gpu_node}", "state=drain", "reason=test")
    try:
        bad = _bad(_rows(daemon, "--probe", "--probe-seconds", "1"))
    finally:
        daemon.cluster.bring_back(daemon.cluster.gpu_node)

    assert any(row.startswith("partition gpu: up, nodes: 1 drain") for row in bad), bad
    assert any(row.startswith("node of gpu: the job did not end in time: PENDING") for row in bad), bad
    assert "" == daemon.as_user("squeue", "--noheader", "--me", "--states=PENDING", "--format=%j")
