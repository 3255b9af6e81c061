"""The OpenAPI document says what the endpoints do, and its page asks nothing of anywhere else."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from cableferry import dialects
from cableferry.core import signing
from cableferry.server import openapi, reading
from cableferry.server.settings import OpevaSection
from cableferry.testing import servers

DOCUMENT: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(openapi.document()))


def _operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_every_endpoint_is_in_it() -> None:
    ours = [each.DIALECT for each in dialects.ROLL_CALL if each.DIALECT.is_described]
    served = {(e.method, e.template) for dialect in ours for e in dialect.endpoints}

    assert {(method, path) for method, path, _ in _operations()} == served


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [operation["operationId"] for _, _, operation in _operations()]

    assert len(set(names)) == len(names)


def test_every_refusal_is_a_problem_document_or_what_its_contract_says_instead() -> None:
    for _, _, operation in _operations():
        own = ["application/json"] if operation["tags"][0] in ("graphql", "opeva") else []
        for status, answer in operation["responses"].items():
            assert int(status) < 400 or ["application/problem+json", *own] == list(answer["content"])


def test_every_reference_leads_somewhere() -> None:
    text = msgspec.json.encode(DOCUMENT).decode()
    asked = set(re.findall(r"#/components/schemas/([\w.]+)", text))

    assert asked - set(DOCUMENT["components"]["schemas"]) == set()


def test_every_status_of_a_job_is_one_that_the_protocol_knows() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    query = DOCUMENT["paths"]["/api/hpc/jobs"]["get"]["parameters"]

    told = [schemas[name]["properties"]["status"]["enum"] for name in ("TransitionBody", "JobBody", "SyncReport")]
    asked = [each["schema"]["enum"] for each in query if each["name"] == "status"]

    words = ["PENDING", "CLAIMED", "SUBMITTED", "STARTED", "COMPLETED", "FAILED", "CANCELLED"]
    assert [words] * 3 == told
    assert [[*words, "ALL"]] == asked


@pytest.mark.parametrize("name", ["X-EMX2-API-Version", "X-Request-Id", "X-Timestamp"])
def test_the_protocol_headers_are_required(name: str) -> None:
    operation = DOCUMENT["paths"]["/api/hpc/jobs"]["get"]

    assert [each["required"] for each in operation["parameters"] if each["name"] == name] == [True]


@pytest.mark.parametrize(
    "text", ["1735689600", "2026-02-21T10:00:00", "2026-02-21T10:00:00Z", "2026-02-21T10:00:00.123456789+01:00"]
)
def test_a_timestamp_may_be_what_the_server_takes(text: str) -> None:
    parameters = DOCUMENT["paths"]["/api/hpc/jobs"]["get"]["parameters"]
    schema = next(each["schema"] for each in parameters if each["name"] == "X-Timestamp")

    assert re.search(schema["pattern"], text)
    assert signing.parse_timestamp(text)


def test_every_list_of_pages_counts_in_a_header_and_every_delay_says_how_long() -> None:
    pages = {path for method, path, operation in _operations() if _headers(operation, "X-Total-Count") == {"200"}}
    delays = [_headers(operation, "Retry-After") for _, _, operation in _operations()]

    assert {"/api/hpc/jobs", "/api/hpc/artifacts"} <= pages
    assert "/api/hpc/workers" not in pages
    assert {"429", "503"} == set.union(*delays)


def _headers(operation: dict[str, Any], name: str) -> set[str]:
    """The statuses whose answers carry this header."""
    return {status for status, answer in operation["responses"].items() if name in answer["headers"]}


def test_health_needs_no_security() -> None:
    assert DOCUMENT["paths"]["/api/hpc/health"]["get"]["security"] == []


def test_the_page_names_every_endpoint_and_no_other_site() -> None:
    page = reading.page(openapi.document())

    assert [path for path in DOCUMENT["paths"] if f"<code>{path}</code>" not in page] == []
    assert re.findall(r"(?:src|href)=[\"']?(?:https?:)?//", page) == []
    assert "<script" not in page


def test_both_are_served(tmp_path: Path) -> None:
    every = replace(servers.settings_in(tmp_path), opeva=OpevaSection(shared_data=tmp_path / "share"))
    with servers.running(every) as running:
        document = running.client().get("/api/hpc/openapi.json")
        page = running.client().get("/api/hpc/docs")

    assert (document.status, document.json) == (200, DOCUMENT)
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
