"""GraphQL over HTTP: both addresses, both methods, several questions at once, and what is refused with which status."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from graphql import build_client_schema, get_introspection_query, parse, print_schema, validate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cableferry.core.access import Role
from cableferry.engine import tokens, users
from cableferry.server.settings import AuthSection, Secret
from cableferry.testing import servers, stores
from cableferry.testing.servers import Client, Reply
from cableferry.wire.graphql import JSON, LONGEST_DOCUMENT, MOST_TOGETHER, PATHS, RESPONSE
from tests.server import serving

JOBS = "{ HpcJobs(limit: 1) { id status { name } output_artifact_id { id type { name } status { name } } } }"
BAD = "{ nope }"
BOTH = pytest.mark.parametrize("path", PATHS)


def _ask(client: Client, query: object, accept: str | None = None, path: str = PATHS[0]) -> Reply:
    return client.post(path, {"query": query}, {"Accept": accept})


@BOTH
def test_a_question_is_answered_by_post_and_by_get(client: Client, path: str) -> None:
    posted = client.post(path, {"query": JOBS, "variables": None, "operationName": None, "extensions": {}})
    got = client.get(f"{path}?{urlencode({'query': JOBS, 'variables': '{}'})}")

    assert (200, 200) == (posted.status, got.status)
    assert "PENDING" == posted.json["data"]["HpcJobs"][0]["status"]["name"]
    assert posted.json == got.json


def test_an_operation_and_variables_are_named(client: Client) -> None:
    text = "query A { __typename } query B($n: Int) { HpcJobs(limit: $n) { id } }"
    asked = {"query": text, "operationName": "B", "variables": '{"n": 2}'}

    assert 2 == len(client.get(f"{PATHS[0]}?{urlencode(asked)}").json["data"]["HpcJobs"])


@pytest.mark.parametrize(
    ("accept", "media", "status"),
    [
        (None, JSON, 200),
        ("*/*", JSON, 200),
        (JSON, JSON, 200),
        (RESPONSE, RESPONSE, 400),
        (f"{RESPONSE}; charset=utf-8, {JSON}; q=0.9", RESPONSE, 400),
        (f"{JSON}, {RESPONSE};q=0.5", JSON, 200),
        ("text/html", JSON, 200),
    ],
)
def test_a_mistake_has_the_status_of_the_media_type(
    client: Client, accept: str | None, media: str, status: int
) -> None:
    wrong, right = _ask(client, BAD, accept), _ask(client, JOBS, accept)

    assert (status, media) == (wrong.status, wrong.headers["content-type"])
    assert (200, media) == (right.status, right.headers["content-type"])
    assert ["errors"] == list(wrong.json)
    assert {"line": 1, "column": 3} == wrong.json["errors"][0]["locations"][0]


def test_an_answer_with_a_mistake_in_a_part_of_it_is_an_answer(client: Client) -> None:
    reply = _ask(client, '{ __typename HpcJobs(filter: {status: {equals: "NOPE"}}) { id } }', RESPONSE)

    assert 200 == reply.status
    assert {"__typename": "Query", "HpcJobs": None} == reply.json["data"]
    (error,) = reply.json["errors"]
    assert (["HpcJobs"], "malformed") == (error["path"], error["extensions"]["kind"])
    assert "use one of PENDING, CLAIMED" in error["message"]


@BOTH
@pytest.mark.parametrize("accept", [JSON, RESPONSE])
def test_nothing_can_be_changed(client: Client, path: str, accept: str) -> None:
    asked = 'mutation { delete(HpcJobs: {id: "x"}) { message } }'
    replies = [
        _ask(client, asked, accept, path),
        _ask(client, f"query A {{ __typename }} {asked}", accept, path),
        client.get(f"{path}?{urlencode({'query': asked})}"),
        client.post(path, [{"query": JOBS}, {"query": asked}]),
    ]

    assert [403, 403, 403] == [reply.status for reply in (replies[0], *replies[2:])]
    assert {"not-allowed"} == {reply.json["errors"][0]["extensions"]["kind"] for reply in (replies[0], *replies[2:])}
    # which one is meant is not said
    assert "operationName" in replies[1].json["errors"][0]["message"]


def test_several_questions_are_answered_together_and_not_too_many(client: Client) -> None:
    together = client.post(PATHS[0], [{"query": JOBS}, {"query": BAD}, {"query": "{ __typename }"}])

    assert 200 == together.status
    assert ["data", "errors", "data"] == [next(iter(each)) for each in _list(together)]
    assert 400 == client.post(PATHS[0], [{"query": JOBS}] * (MOST_TOGETHER + 1)).status
    assert 400 == client.post(PATHS[0], []).status


def _list(reply: Reply) -> list[Any]:
    return list(serving.json.loads(reply.body))


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"7", b'"x"', b"null", b"{}", b'{"query": 7}', b'{"query": null}',
        b'{"query": "{a}", "variables": []}',
        b'{"query": "{a}", "variables": 1}', b'{"query": "{a}", "operationName": {}}',
        b'{"query": "{a}", "extensions": []}',
        b'{"query": NaN}', b"\xff\xfe", b'{"query": "{a}", "variables": {"x": NaN}}', b"[[]]", b"[null]",
        b'{"query": "\\ud800"}',
        b'{"query": "{__typename}", "variables": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"query": "' + b"#" * (LONGEST_DOCUMENT + 1) + b'"}',
        b'{"query": "{a}", "variables": {"x": 1' + b"0" * 5000 + b"}}",
    ],
)  # fmt: skip
def test_what_is_no_question_is_refused(client: Client, body: bytes) -> None:
    reply = client.post(PATHS[0], body)

    assert (400, JSON) == (reply.status, reply.headers["content-type"])
    assert reply.json["errors"][0]["message"]


@pytest.mark.parametrize(
    "query",
    ["", "query=%7B", "variables={}", "query={a}&variables=7", "query={a}&variables={", "query={a}&extensions=[]"],
)
def test_an_address_that_holds_no_question_is_refused(client: Client, query: str) -> None:
    reply = client.get(f"{PATHS[0]}?{query}", {"Accept": RESPONSE})

    assert 400 == reply.status
    assert reply.json["errors"][0]["message"]


def test_a_client_learns_the_schema_and_checks_its_questions_by_it(client: Client) -> None:
    answered: Any = _ask(client, get_introspection_query()).json["data"]
    schema = build_client_schema(answered)

    assert [] == validate(schema, parse(JOBS))
    assert "type HpcArtifacts" in print_schema(schema)
    assert schema.mutation_type is None
    assert schema.subscription_type is None


_WORDS = st.sampled_from(
    [*"{}()[]:$@!#\"\\\0_xé🚢", "...", '"""', "query", "mutation", "on", "fragment", "HpcJobs", "id", "status", "limit",
     "filter", "equals", "type", "1", "-9", "1e400", "null", "true"]
)  # fmt: skip


@settings(max_examples=150, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    st.lists(_WORDS | st.text(max_size=3), max_size=30),
    st.dictionaries(st.text(max_size=4), st.integers() | st.text(), max_size=2),
)
def test_no_document_makes_the_server_fail(client: Client, words: list[str], variables: dict[str, object]) -> None:
    reply = client.post(PATHS[0], {"query": " ".join(words), "variables": variables}, {"Accept": RESPONSE})

    assert reply.status in (200, 400, 403)


def test_whoever_may_read_may_ask(tmp_path: Path) -> None:
    wanted = serving.settings(tmp_path, AuthSection(shared_secret=Secret("x" * 32)))
    with stores.opened(wanted.database_url) as store, servers.running(wanted, store) as running:
        store.write(lambda tx: users.create(tx, "vera", Role.VIEWER, None))
        token = store.write(lambda tx: tokens.grant(tx, "vera", tokens.Wanted(Role.VIEWER))).text

        stranger = _ask(running.client(), JOBS)
        viewer = _ask(running.client({"Authorization": f"Bearer {token}"}), JOBS)

    assert (401, "unauthenticated") == (stranger.status, stranger.json["errors"][0]["extensions"]["kind"])
    assert (200, {"HpcJobs": []}) == (viewer.status, viewer.json["data"])
