"""Results of the size that people have: a gibibyte, ten thousand files."""

import hashlib
import os
from pathlib import Path

import pytest

from cableferry.client import transfers
from cableferry.client.artifacts import Description
from cableferry.core import contents
from cableferry.wire.emx2.artifacts import CreateArtifactBody
from tests.system.cluster_daemon import ClusterDaemon

pytestmark = pytest.mark.slurm

GIBIBYTE = 2**30
FILES = 10_000
# every byte of the input goes through the program, and comes out as another one
TURN = 'cat "$HPC_INPUT_DIR"/*/big | tr "\\000-\\377" "\\001-\\377\\000" >"$HPC_OUTPUT_DIR/turned"'


def test_a_gibibyte_goes_to_a_job_and_what_it_made_of_it_comes_back(daemon: ClusterDaemon, tmp_path: Path) -> None:
    daemon.offer("turn", script=TURN, memory="500M")
    big = tmp_path / "big"
    block = os.urandom(2**20)
    with big.open("wb") as file:
        # no two blocks are alike
        file.writelines(number.to_bytes(8, "big") + block[8:] for number in range(GIBIBYTE // 2**20))
    turned = _sha256(big, bytes((byte + 1) % 256 for byte in range(256)))
    artifact = daemon.client.artifacts.create(CreateArtifactBody(type="blob", residence="managed"))
    transfers.upload(daemon.client.artifacts, artifact.id, Description("big"), big)
    daemon.client.artifacts.commit(artifact.id)
    big.unlink()
    job = daemon.submit("turn", inputs=[artifact.id])
    daemon.start()
    ended = daemon.ended(job)

    assert ended.status == "COMPLETED", ended.detail
    (made,) = daemon.client.artifacts.files(ended.output_artifact_id or "")
    assert (made.path, made.size_bytes, made.sha256) == ("turned", GIBIBYTE, turned)
    transfers.download(daemon.client.artifacts, ended.output_artifact_id or "", made, tmp_path / "turned")
    assert _sha256(tmp_path / "turned") == turned


def _sha256(path: Path, table: bytes | None = None) -> str:
    hasher = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(2**20):
            hasher.update(block.translate(table))
    return hasher.hexdigest()


def test_ten_thousand_files_go_to_a_job_and_come_back(daemon: ClusterDaemon) -> None:
    make = (
        'cd "$HPC_OUTPUT_DIR"; for folder in $(seq -w 0 99); do mkdir "d$folder"; '
        'for file in $(seq -w 0 99); do echo "$folder $file" >"d$folder/f$file"; done; done'
    )
    daemon.offer("make", script=make)
    daemon.offer("copy", script='cp -r "$HPC_INPUT_DIR"/*/. "$HPC_OUTPUT_DIR/"; mv "$HPC_OUTPUT_DIR"/{d00,"other 00"}')
    daemon.start()
    made = daemon.ended(daemon.submit("make"))
    copied = daemon.ended(daemon.submit("copy", inputs=[made.output_artifact_id]))

    assert (made.status, copied.status) == ("COMPLETED", "COMPLETED"), (made.detail, copied.detail)
    listed = {file.path: file.sha256 for file in daemon.client.artifacts.files(copied.output_artifact_id or "")}
    assert listed == {_place(number): _content_hash(number) for number in range(FILES)}
    whole = daemon.client.artifacts.get(copied.output_artifact_id or "").sha256
    assert whole == contents.tree_hash((path, sha256 or "") for path, sha256 in listed.items())


def _place(number: int) -> str:
    folder = "other 00" if number < 100 else f"d{number // 100:02}"
    return f"{folder}/f{number % 100:02}"


def _content_hash(number: int) -> str:
    return hashlib.sha256(f"{number // 100:02} {number % 100:02}\n".encode()).hexdigest()
