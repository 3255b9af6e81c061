"""No question takes more than a server can give, and none is answered by a failure of the server."""

import asyncio
import sys
from typing import Any

import pytest

from cableferry.core.errors import Invalid
from cableferry.dialects.graphql import costs
from cableferry.dialects.graphql.lookups import Limits, Lookups
from tests.dialects.graphql.harbour import Harbour

_DEEP = "{ HpcJobs(limit: 1) " + "{ transitions(limit: 1) { job_id " * 7 + "{ id }" + " } }" * 7 + " }"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (_DEEP, "levels deep"),
        ("{ HpcJobs(limit: 1000) { transitions(limit: 1000) { id } } }", "values, 500000 is the most"),
        ("{ HpcJobs(limit: null) { transitions(limit: 1000) { id } } }", "values, 500000 is the most"),
        ("query ($n: Int) { HpcJobs(limit: $n) { transitions(limit: $n) { id } } }", "values, 500000 is the most"),
        (
            "{ HpcJobs(limit: 1000) { ...F } } fragment F on HpcJobs { input_artifacts(limit: 900) { id } }",
            "is the most",
        ),
        ("{" + " ".join(f"a{n}: HpcJobs {{ id }}" for n in range(costs.MOST_ALIASES + 1)) + "}", "aliases"),
        ("{ HpcJobs " + "{ id " * 3000 + "}" * 3001, "nested too deeply"),
        ("{" + "a " * 10_000 + "}", "tokens"),
        (
            "{ HpcJobs { ...A } } fragment A on HpcJobs { ...B } fragment B on HpcJobs { ...A }",
            "Cannot spread fragment",
        ),
        (
            "{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }",
            "introspection",
        ),
    ],
    ids=[
        "depth",
        "rows",
        "no limit",
        "variables",
        "fragment",
        "aliases",
        "nesting",
        "tokens",
        "cycle",
        "introspection",
    ],
)
def test_what_asks_for_too_much_is_refused_before_any_statement(filled: Harbour, text: str, said: str) -> None:
    answer, statements = filled.ask(text, n=1000)

    assert said in answer["errors"][0]["message"]
    assert [] == statements
    assert "data" not in answer


def test_many_uses_of_one_fragment_are_priced_quickly(filled: Harbour) -> None:
    """Each fragment spreads the next one twice, which would be two to the power of forty fields."""
    spreads = [f"fragment F{n} on HpcJobs {{ a: worker_id_text ...F{n + 1} ...F{n + 1} }}" for n in range(40)]

    message = filled.mistake("{ HpcJobs { ...F0 } } " + " ".join(spreads) + " fragment F40 on HpcJobs { id }")

    assert "is the most" in message


@pytest.mark.parametrize(
    ("limits", "said"),
    [(Limits(seconds=0), "takes longer"), (Limits(rows=9), "more than 9 rows"), (Limits(size_bytes=20), "20 bytes")],
    ids=["time", "rows", "bytes"],
)
def test_an_answer_that_grows_too_large_is_broken_off(filled: Harbour, limits: Limits, said: str) -> None:
    assert said in filled.mistake("{ HpcJobs { parameters inputs transitions { id } } }", limits)


def test_rows_that_are_told_many_times_count_many_times(filled: Harbour) -> None:
    text = "{ HpcJobs(limit: 3) { input_artifacts { files { path } } } }"
    told = 3 + 3 * 2 + 3 * (1 + 2)

    assert "data" in filled.ask(text, Limits(rows=told))[0]
    assert "rows" in filled.mistake(text, Limits(rows=told - 1))


def test_the_time_is_looked_at_before_each_lookup(filled: Harbour) -> None:
    async def look(late: Lookups) -> None:
        await late.many(late.transitions(0, 1), 1)

    with pytest.raises(Invalid, match="takes longer"):
        filled.store.read(lambda tx: asyncio.run(look(Lookups(tx, "emx2", Limits(seconds=-1)))))


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "\0", "{", "}", "query", "{ __typename", "{ x }", "fragment F on HpcJobs { id }", "﻿{ __typename",
        '{ HpcJobs(filter: {id: {equals: "\\u0000"}}) { id } }', "{ HpcJobs(limit: 99999999999999999999) { id } }",
        "{ HpcJobs(limit: -1) { id } }", "{ HpcJobs(limit: 0) { id } }", "{ HpcJobs(offset: -1) { id } }",
        '{ HpcJobs(limit: "1") { id } }', "{ HpcJobs(limit: NaN) { id } }", "{ HpcJobs(limit: 1.5) { id } }",
        '{ HpcJobs(after: "") { id } }', '{ HpcJobs(after: "WyJuYW1lIixbMV1d") { id } }',
        "{ HpcJobs { status { x } } }",
        '{ HpcJobs(after: "WyJjcmVhdGVkX2F0IixbOTk5OTk5OTk5OTk5OTk5OTk5OTk5OV1d") { id } }',
        "{ HpcJobs(orderby: {created_at: UP}) { id } }", "{ HpcJobs { id(x: 1) } }", "{ HpcJobs @nope { id } }",
        "{ HpcJobs(orderby: {created_at: ASC, updated_at: ASC}) { id } }", '{ HpcJobs(filter: "x") { id } }',
        '{ HpcJobs(filter: {status: {equals: "NOPE"}}) { id } }', "{ HpcJobs(filter: {status: {equals: 7}}) { id } }",
        '{ HpcJobs(filter: {status: {equals: {nope: "x"}}}) { id } }', "{ HpcJobs { parameters { a } } }",
        '{ HpcJobs(filter: {status: {equals: "PENDING", name: {equals: "PENDING"}}}) { id } }',
        '{ HpcJobs(filter: {created_at: {between: ["yesterday", null]}}) { id } }',
        '{ HpcJobs(filter: {created_at: {between: ["0001-01-01T00:00:00+14:00"]}}) { id } }',
        '{ HpcArtifacts { files(prefix: "\\u0000") { id } } }', "{ HpcArtifacts { files(limit: -1) { id } } }",
        '{ HpcArtifacts(filter: {residence: {equals: "moon"}}) { id } }',
        "{ HpcJobs { transitions(after: 3000000000) { id } } }",
        "query ($a: Nope) { HpcJobs { id } }", "query ($a: Int!) { HpcJobs(limit: $a) { id } }",
        "query A { x } query B { x }",
        "query ($a: String) { HpcJobs(limit: $a) { id } }", "{ HpcJobs(limit: $a) { id } }",
        "{ type: HpcJobs { id } type }",
        "subscription { HpcJobs { id } }", "schema { query: Query }", "type X { y: Int }", '{ "x" }', "{ HpcJobs }",
        "{ __type(name: 7) { name } }", "{ HpcJobs { __schema { types { name } } } }", "{ ... on HpcJobs { id } }",
    ],
)  # fmt: skip
def test_a_question_that_makes_no_sense_is_told_what_is_wrong(filled: Harbour, text: str) -> None:
    answer, _ = filled.ask(text)

    assert answer["errors"][0]["message"]


@pytest.mark.parametrize(
    "values",
    [
        {"f": 7}, {"f": []}, {"f": "x"}, {"f": {"nope": 1}}, {"f": {"id": {"equals": [None]}}}, {"f": {"id": 2**70}},
        {"f": {"status": {"equals": [[[["x"]]]]}}}, {"f": {"created_at": {"between": [1e300, None]}}},
        {"f": {"id": {"equals": ["\0"]}}}, {"f": {"id": {"equals": ["x" * 5000]}}},
        {"f": {"id": {"equals": ["x"] * 1001}}}, {"f": {"created_at": {"between": ["9999-12-31T23:59:59-14:00"]}}},
    ],
)  # fmt: skip
def test_values_of_variables_that_make_no_sense_are_told(filled: Harbour, values: dict[str, Any]) -> None:
    text = "query ($f: HpcJobsFilter) { HpcJobs(filter: $f) { id } }"

    assert filled.mistake(text, **values)


def test_a_value_nested_without_end_is_a_mistake_of_the_client(filled: Harbour) -> None:
    value: Any = "x"
    for _ in range(sys.getrecursionlimit() * 2):
        value = [value]

    assert filled.mistake("query ($f: HpcJobsFilter) { HpcJobs(filter: $f) { id } }", f={"id": {"equals": value}})


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_times_at_the_ends_of_time_are_times(filled: Harbour, moment: str) -> None:
    assert (
        []
        == filled.data(f'{{ HpcJobs(filter: {{created_at: {{between: ["{moment}", "{moment}"]}}}}) {{ id }} }}')[
            "HpcJobs"
        ]
    )
