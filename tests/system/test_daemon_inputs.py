"""Inputs of the web and of S3, from a configuration to a job's output, with a real server of each kind."""

import contextlib
import functools
import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import obstore
import pytest
from obstore.store import S3Store

from cableferry.client.emx2 import Emx2
from cableferry.testing import s3
from cableferry.wire.emx2.artifacts import CreateArtifactBody, FileMetadataBody
from cableferry.wire.emx2.bodies import CreateBody
from tests.cli import ferry as program
from tests.cli.ferry import ferry
from tests.schedulers.waiting import until

WEB, OBJECT = b"of the web", b" and of S3"


@contextlib.contextmanager
def _serving(folder: Path) -> Iterator[str]:
    """The standard library's own web server, for one folder."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _told(client: Emx2, residence: str, url: str, name: str, content: bytes) -> str:
    """An artifact whose bytes are elsewhere."""
    body = msgspec.convert({"residence": residence, "content_url": url}, CreateArtifactBody)
    made = client.artifacts.create(body).id
    client.artifacts.declare(made, name, FileMetadataBody(None, hashlib.sha256(content).hexdigest(), len(content)))
    return client.artifacts.commit(made).id


def _put(server: s3.Server, key: str, content: bytes) -> None:
    store = S3Store(s3.BUCKET, client_options={"allow_http": True}, **server.config)  # type: ignore[arg-type]  # texts
    obstore.put(store, key, content)


@pytest.mark.xdist_group("s3")
def test_a_job_has_inputs_of_the_web_and_of_s3(tmp_path: Path, s3_server: s3.Server) -> None:
    script, key = tmp_path / "both.sh", tmp_path / "bucket.secret"
    script.write_text('#!/bin/sh\ncat "$HPC_INPUT_DIR"/web/a.txt "$HPC_INPUT_DIR"/object/b.txt >"$HPC_OUTPUT_DIR/c"\n')
    script.chmod(0o755)
    key.write_text(s3_server.secret_access_key)
    key.chmod(0o600)
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "a.txt").write_bytes(WEB)
    _put(s3_server, "corpus/b.txt", OBJECT)
    with (
        program.serving(tmp_path / "data", is_open=True) as server,
        program.client(server) as client,
        _serving(tmp_path / "www") as host,
    ):
        config = tmp_path / "config.yaml"
        config.write_text(
            f"emx2: {{base_url: '{server}', worker_id: w1}}\nworker: {{backend: local, state_db: {tmp_path}/state}}\n"
            f"apptainer: {{tmp_dir: {tmp_path}/jobs}}\nprofiles: {{'a:b': {{entrypoint: {script}}}}}\n"
            f"inputs:\n  private_hosts: ['{host}']\n  s3:\n    {s3.BUCKET}:\n      endpoint: {s3_server.endpoint}\n"
            f"      access_key_id: {s3_server.access_key_id}\n      secret_access_key_file: bucket.secret\n"
        )
        web = _told(client, "http", f"http://{host}", "a.txt", WEB)
        there = _told(client, "s3", f"s3://{s3.BUCKET}/corpus", "b.txt", OBJECT)
        inputs = msgspec.Raw(msgspec.json.encode({"web": web, "object": there}))
        job = client.create(CreateBody("a", "b", inputs=inputs)).id

        def is_over() -> bool:
            ended = ferry(tmp_path, "daemon", "once", "-c", str(config))
            assert ended.code == 0, ended.err
            found = client.job(job)
            return found is not None and found.is_final

        until(is_over)
        found = client.job(job)
        assert found is not None
        assert found.status == "COMPLETED", found.detail
        with client.artifacts.reading(found.output_artifact_id or "", "c") as streaming:
            assert WEB + OBJECT == streaming.whole().body
