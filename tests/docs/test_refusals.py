"""Every refusal that the code can raise is documented, with the status it really has."""

import ast
from collections import defaultdict
from http import HTTPStatus

from cableferry.core import errors
from cableferry.core.errors import Kind, Refusal
from cableferry.dialects import denials
from tests.house import sources
from tools.docs import refusals

CLASSES: dict[str, type[Refusal]] = {
    name: found
    for room in (errors, denials)
    for name, found in vars(room).items()
    if isinstance(found, type) and issubclass(found, Refusal) and found not in (Refusal, denials.Denial)
}


def test_every_kind_of_refusal_is_told() -> None:
    assert set() == set(Kind) - set(refusals.TOLD)
    assert [] == [kind for kind, told in refusals.TOLD.items() if not (told.statuses and told.when and told.remedy)]


def test_every_kind_of_refusal_is_raised_with_the_statuses_that_are_told() -> None:
    raised = _raised()

    assert {} == {
        kind: (told.statuses, sorted(raised[kind]))
        for kind, told in refusals.TOLD.items()
        if not raised[kind] <= set(told.statuses)
    }
    assert [] == [kind for kind in refusals.TOLD if not raised[kind]]


def _raised() -> dict[Kind, set[int]]:
    """The statuses each kind is raised with anywhere in the product."""
    found: dict[Kind, set[int]] = defaultdict(set)
    for source in sources.product():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and (made := CLASSES.get(sources.dotted(node.func).rpartition(".")[2])):
                for kind in _kinds(node) or {made.default}:
                    found[kind].add(_status(made, kind))
    for kind in _chosen_elsewhere():
        found[kind] |= {HTTPStatus.CONFLICT}
    return found


def _kinds(call: ast.Call) -> set[Kind]:
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    return {kind for argument in arguments for kind in _named(argument)}


def _named(expression: ast.expr) -> set[Kind]:
    names = [sources.dotted(node) for node in ast.walk(expression)]
    return {Kind[name.partition(".")[2]] for name in names if name.startswith("Kind.")}


def _chosen_elsewhere() -> set[Kind]:
    """Kinds that a conflict gets from a variable: `kind = Kind.A if ... else Kind.B`."""
    found: set[Kind] = set()
    for source in sources.product():
        for node in ast.walk(source.tree):
            match node:
                case ast.Assign(targets=[ast.Name(id="kind")], value=ast.IfExp(body=body, orelse=orelse)):
                    found |= {kind for side in (body, orelse) for kind in _named(side)}
    return found


def _status(made: type[Refusal], kind: Kind) -> int:
    return int(made.status if issubclass(made, denials.Denial) else denials.status_of(made("", kind)))
