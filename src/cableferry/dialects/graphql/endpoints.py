"""Where questions arrive, and the status that their answers have."""

import functools
import importlib
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

import msgspec

from cableferry.core.access import Need
from cableferry.core.errors import Invalid
from cableferry.dialects import contracts
from cableferry.dialects.endpoint import Answer, Call, Endpoint
from cableferry.store.tx import Tx
from cableferry.wire.graphql import JSON, PATHS, RESPONSE, AnswerBody, Answers, Body, QuestionBody, QuestionQuery

_OBJECTS = msgspec.json.Decoder(dict[str, object])


class ContractQuery(msgspec.Struct, frozen=True):
    """Whose jobs and workers are asked about: a contract's name, or else the usual one."""

    contract: contracts.Name | None = None


class AskedQuery(QuestionQuery, frozen=True):
    """The same beside a question."""

    contract: contracts.Name | None = None


class Answering(Protocol):
    """What answers: a module that takes a while to import, so a server starts without it."""

    def understood(self, questions: Sequence[QuestionBody]) -> Sequence[object]:
        """What is to be done for each question; refuses those that would change something."""
        ...

    def answers(self, tx: Tx, pool: str, understood: Sequence[object]) -> list[AnswerBody]: ...


def prepare(call: Call) -> Sequence[object]:
    """Reading a document takes longer than a lookup, so it happens before the transaction."""
    return _answering().understood(_questions(call))


def ask(tx: Tx, call: Call) -> Answer:
    """A client that takes GraphQL's own media type is told by the status that it was not understood."""
    pools: Mapping[str, str] = call.service
    answers = _answering().answers(tx, contracts.chosen(pools, call.query.contract), call.prepared)
    body: Answers = answers if isinstance(call.body, list) else answers[0]
    media = _media(call)
    is_refused = isinstance(body, AnswerBody) and body.data is msgspec.UNSET
    return Answer(body, 400 if is_refused and media == RESPONSE else 200, content_type=media)


@functools.cache
def _answering() -> Answering:
    return cast(Answering, importlib.import_module("cableferry.dialects.graphql.answering"))


def _questions(call: Call) -> Sequence[QuestionBody]:
    match call.body, call.query:
        case list() as together, _:
            return together
        case QuestionBody() as one, _:
            return (one,)
        case _, QuestionQuery() as query:
            variables = _object(query.variables, "variables")
            return (
                QuestionBody(query.query, query.operation_name, variables, _object(query.extensions, "extensions")),
            )
        case _:
            raise Invalid("there is no query: send a JSON object with the field query")


def _object(text: str | None, field: str) -> dict[str, object] | None:
    if not text or text == "null":
        return None
    try:
        return _OBJECTS.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise Invalid(f"{field} must hold a JSON object") from None


def _media(call: Call) -> str:
    """GraphQL's own media type for those who ask for it, JSON for all others."""
    accepted = call.headers.get(b"accept", b"").decode("latin-1").lower()
    kinds = [part.split(";")[0].strip() for part in accepted.split(",")]
    named = [kind for kind in kinds if kind in (JSON, RESPONSE)]
    return named[0] if named else JSON


def _endpoints(path: str) -> tuple[Endpoint, ...]:
    return (
        Endpoint(
            "POST", path, ask, Need.READ, "Ask in GraphQL; up to ten questions together as a list",
            answer=Answers, body=Body, query=ContractQuery, prepare=prepare, needs_protocol_headers=False,
        ),
        Endpoint(
            "GET", path, ask, Need.READ, "Ask in GraphQL by an address",
            answer=AnswerBody, query=AskedQuery, prepare=prepare, needs_protocol_headers=False,
        ),
    )  # fmt: skip


ENDPOINTS: tuple[Endpoint, ...] = tuple(endpoint for path in PATHS for endpoint in _endpoints(path))
