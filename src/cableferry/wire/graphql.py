"""What a client sends and gets where it asks in GraphQL over HTTP."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

PATHS = ("/api/hpc/graphql", "/_SYSTEM_/graphql")
JSON = "application/json"
RESPONSE = "application/graphql-response+json"

LONGEST_DOCUMENT = 50_000
MOST_TOGETHER = 10

Document = Annotated[str, Meta(max_length=LONGEST_DOCUMENT)]
OperationName = Annotated[str, Meta(max_length=255)]


class QuestionBody(msgspec.Struct, frozen=True):
    """One document, which of its operations is meant, and the values of its variables."""

    query: Document
    operation_name: OperationName | None = msgspec.field(default=None, name="operationName")
    variables: dict[str, Any] | None = None
    extensions: dict[str, Any] | None = None


Together = Annotated[list[QuestionBody], Meta(min_length=1, max_length=MOST_TOGETHER)]
Body = QuestionBody | Together


class QuestionQuery(msgspec.Struct, frozen=True):
    """The same in an address; `variables` and `extensions` hold JSON objects."""

    query: Document
    operation_name: OperationName | None = msgspec.field(default=None, name="operationName")
    variables: str | None = None
    extensions: str | None = None


class Location(msgspec.Struct, frozen=True):
    line: int
    column: int


class ErrorBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong, where in the document and where in the answer."""

    message: str
    locations: list[Location] | UnsetType = UNSET
    path: list[str | int] | UnsetType = UNSET
    extensions: dict[str, Any] | UnsetType = UNSET


class AnswerBody(msgspec.Struct, frozen=True):
    """Without `data` the question was refused as a whole."""

    data: Any | UnsetType = UNSET
    errors: list[ErrorBody] | UnsetType = UNSET


Answers = AnswerBody | list[AnswerBody]
