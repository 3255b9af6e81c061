"""From a question to its answer: read, understand and price it, then look everything up in one transaction."""

import asyncio
import functools
from collections.abc import Sequence

import msgspec
from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    execute,
    get_operation_ast,
    get_variable_values,
    parse,
    validate,
)
from msgspec import UNSET

from cableferry.core.errors import Forbidden, Invalid, Refusal
from cableferry.dialects.graphql import costs, refusals, roots, twins
from cableferry.dialects.graphql.lookups import USUAL, Limits, Lookups
from cableferry.store.tx import Tx
from cableferry.wire.graphql import LONGEST_DOCUMENT, AnswerBody, ErrorBody, Location, QuestionBody

MOST_TOKENS = 5000
MOST_ERRORS = 20
LONGEST_MESSAGE = 1000


class Understood(msgspec.Struct, frozen=True):
    """A question that can be answered."""

    document: DocumentNode
    operation_name: str | None
    variables: dict[str, object]


def understood(questions: Sequence[QuestionBody]) -> Sequence[object]:
    """What is to be done for each question: answer it, or say what is wrong with it."""
    return [_understood(question) for question in questions]


def answers(tx: Tx, pool: str, understood: Sequence[object], limits: Limits = USUAL) -> list[AnswerBody]:
    """Each question by itself, all of them of one moment."""
    return [
        _answer(Lookups(tx, pool, limits), each) if isinstance(each, Understood) else _as_it_is(each)
        for each in understood
    ]


def _as_it_is(answer: object) -> AnswerBody:
    assert isinstance(answer, AnswerBody)  # noqa: S101  # the other thing that is made of a question
    return answer


def _understood(question: QuestionBody) -> Understood | AnswerBody:
    try:
        return _read(question)
    except Forbidden:
        raise
    except Invalid as refusal:
        return AnswerBody(errors=[ErrorBody(refusal.detail, extensions=refusals.told(refusal))])
    except GraphQLError as error:
        return _refused([error])
    except RecursionError:
        return AnswerBody(errors=[ErrorBody("the document is nested too deeply")])


def _read(question: QuestionBody) -> Understood | AnswerBody:
    schema, variables = _schema(), dict(question.variables or {})
    parsed = parse(question.query, max_tokens=MOST_TOKENS, max_source_length=LONGEST_DOCUMENT)
    costs.check_aliases(parsed)
    document = twins.resolved(schema, parsed)
    operation = _operation(document, question.operation_name)
    wrong = validate(schema, document, max_errors=MOST_ERRORS)
    if wrong:
        return _refused(wrong)
    known = get_variable_values(schema, operation.variable_definitions or (), variables, MOST_ERRORS)
    if isinstance(known, list):
        return _refused(known)
    costs.Costs(schema, document, known).check(operation)
    return Understood(document, question.operation_name, variables)


def _operation(document: DocumentNode, name: str | None) -> OperationDefinitionNode:
    """The operation that is meant, if it only reads."""
    operation = get_operation_ast(document, name)
    if operation is None:
        raise Invalid(_which(document, name))
    match operation.operation:
        case OperationType.MUTATION:
            raise Forbidden("nothing can be changed in GraphQL: use the endpoints of the protocol")
        case OperationType.SUBSCRIPTION:
            raise Invalid("there are no subscriptions in GraphQL here: ask again, or wait with a long poll")
        case _:
            return operation


def _which(document: DocumentNode, name: str | None) -> str:
    there = [each for each in document.definitions if isinstance(each, OperationDefinitionNode)]
    if not there:
        return "the document holds no operation: ask for something"
    if name is None:
        return "the document holds several operations: say in operationName which one is meant"
    return f"the document has no operation {name[:40]}"


def _answer(lookups: Lookups, question: Understood) -> AnswerBody:
    """Runs on the thread that has the transaction; the loop there only gathers what is to be looked up."""
    result = asyncio.run(_executed(lookups, question))
    errors = [_error(_told(error)) for error in result.errors or ()][:MOST_ERRORS]
    return AnswerBody(result.data, errors or UNSET)


async def _executed(lookups: Lookups, question: Understood) -> ExecutionResult:
    result = execute(
        _schema(),
        question.document,
        context_value=lookups,
        variable_values=question.variables,
        operation_name=question.operation_name,
        max_coercion_errors=MOST_ERRORS,
    )
    return result if isinstance(result, ExecutionResult) else await result


def _told(error: GraphQLError) -> GraphQLError:
    """A mistake of the client's is told; everything else is the server's and is not an answer at all."""
    cause = error.original_error
    if cause is None or isinstance(cause, Refusal | GraphQLError):
        return error
    raise cause


def _refused(errors: Sequence[GraphQLError]) -> AnswerBody:
    return AnswerBody(errors=[_error(error) for error in errors])


def _error(error: GraphQLError) -> ErrorBody:
    cause = error.original_error
    return ErrorBody(
        (cause.detail if isinstance(cause, Refusal) else error.message)[:LONGEST_MESSAGE],
        [Location(each.line, each.column) for each in error.locations or ()] or UNSET,
        error.path or UNSET,
        refusals.told(cause) if isinstance(cause, Refusal) else UNSET,
    )


@functools.cache
def _schema() -> GraphQLSchema:
    """What strawberry made of the types, for what it leaves to the library below it."""
    return roots.schema()._schema
