"""The dashboard's files: which addresses are its own, what a browser is told with them, and without them."""

import asyncio
import gzip
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest

from cableferry.server.site import Site
from tests.server.serving import Reply, serving, settings

INDEX = b"<!doctype html><html><head><title>x</title></head></html>"
SCRIPT = b"let x = 1;" * 100


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "built"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_bytes(INDEX)
    (folder / "assets" / "index-abc.js").write_bytes(SCRIPT)
    (folder / ".stamp").write_text("no file of the site")
    return folder


def asked(site: Site, path: str, method: str = "GET", **headers: str) -> Reply:
    said = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.disconnect"}

    asyncio.run(site({"type": "http", "method": method, "path": path, "headers": said}, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Reply(sent[0]["status"], found, b"".join(message["body"] for message in sent[1:]))


@pytest.mark.parametrize("path", ["/", "/ui", "/ui/", "/ui/jobs", "/ui/artifacts/0195?q=1", "/ui/.stamp", "/ui/../x"])
def test_every_address_of_the_dashboard_is_its_one_page(built: Path, path: str) -> None:
    reply = asked(Site("", built), path)

    assert (200, "text/html; charset=utf-8", "no-cache") == (
        reply.status,
        reply.headers["content-type"],
        reply.headers["cache-control"],
    )
    assert b'<base href="/ui/"><title>x' in reply.body


@pytest.mark.parametrize("path", ["/jobs", "/api/hpc/jobs", "/uix", "/metrics"])
def test_other_addresses_are_not_its_own(built: Path, path: str) -> None:
    assert not Site("", built).is_at(path)


def test_behind_a_prefix_the_page_knows_where_it_is(built: Path) -> None:
    site = Site("/ferry/", built)

    assert site.is_at("/ferry/ui/jobs")
    assert b'<base href="/ferry/ui/">' in asked(site, "/ferry/ui/jobs").body
    assert b'<base href="/ferry/ui/">' in asked(site, "/ui/jobs").body


def test_a_page_may_load_nothing_but_what_is_here(built: Path) -> None:
    policy = asked(Site("", built), "/").headers["content-security-policy"]

    assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= set(policy.split("; "))
    assert "unsafe" not in policy


def test_what_has_its_hash_in_its_name_is_kept_for_good(built: Path) -> None:
    site = Site("", built)
    plain = asked(site, "/ui/assets/index-abc.js")
    packed = asked(site, "/ui/assets/index-abc.js", accept_encoding="gzip, br")
    known = asked(site, "/ui/assets/index-abc.js", if_none_match=plain.headers["etag"])

    assert (SCRIPT, SCRIPT) == (plain.body, gzip.decompress(packed.body))
    assert "immutable" in plain.headers["cache-control"]
    assert (304, b"") == (known.status, known.body)


def test_a_script_of_an_older_dashboard_is_not_answered_by_a_page(built: Path) -> None:
    assert asked(Site("", built), "/ui/assets/index-old.js").status == 404


def test_a_script_that_an_upgrade_took_away_is_not_a_fault(built: Path) -> None:
    site = Site("", built)
    (built / "assets" / "index-abc.js").unlink()

    assert asked(site, "/ui/assets/index-abc.js").status == 404


def test_the_dashboard_can_only_be_read(built: Path) -> None:
    reply = asked(Site("", built), "/ui/jobs", "POST")

    assert (405, "GET, HEAD") == (reply.status, reply.headers["allow"])


def test_without_the_build_the_server_says_so_and_works(tmp_path: Path) -> None:
    reply = asked(Site("", tmp_path / "nothing"), "/")

    assert 404 == reply.status
    assert b"make web" in reply.body


def test_a_server_shows_it_beside_the_api(tmp_path: Path) -> None:
    with serving(settings(tmp_path)) as server:
        page, api = server.call("GET", "/"), server.call("GET", "/api/hpc/health")
        unknown = server.call("GET", "/nothing/here")

    assert (200, 404) == (api.status, unknown.status)
    assert "text/html" in page.headers["content-type"]
    assert unknown.headers["content-type"] == "application/problem+json"
