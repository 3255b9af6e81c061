"""How much a question asks for, estimated before any of it is looked up."""

from collections.abc import Sequence

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    SelectionNode,
    get_argument_values,
    get_named_type,
    get_nullable_type,
)
from graphql.execution.values import VariableValues

from cableferry.core.errors import Invalid, Kind

MOST_COST = 500_000
DEEPEST = 12
MOST_ALIASES = 50
MOST_ROWS = 1000

# what a look at every row of a table is worth, and at the whole schema, in fields of a row
SCAN = 2000
INTROSPECTION = 3000

# how much of what belongs to a row is usually there; what really comes is counted when it does
USUAL_RELATED = 10


class Costs:
    """Walks one operation, fragments included; a fragment is walked once for each type it stands in."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, variables: VariableValues) -> None:
        self._schema = schema
        self._variables = variables
        self._fragments = {
            each.name.value: each for each in document.definitions if isinstance(each, FragmentDefinitionNode)
        }
        self._known: dict[str, tuple[int, int]] = {}

    def check(self, operation: OperationDefinitionNode) -> None:
        """Refuse what is too deep, or would bring too many values."""
        root = self._schema.query_type
        cost, depth = self._selected(root, operation.selection_set.selections)
        if depth > DEEPEST:
            raise Invalid(f"the question is {depth} levels deep, {DEEPEST} is the most", Kind.TOO_COSTLY)
        if cost > MOST_COST:
            raise Invalid(
                f"the question asks for about {cost} values, {MOST_COST} is the most: lower a limit or ask for less",
                Kind.TOO_COSTLY,
            )

    def _selected(self, parent: object, selections: Sequence[SelectionNode]) -> tuple[int, int]:
        """The cost of these selections for one row, and how deep they go."""
        each = [self._selection(parent, selection) for selection in selections]
        return sum(cost for cost, _ in each), max((depth for _, depth in each), default=0)

    def _selection(self, parent: object, node: SelectionNode) -> tuple[int, int]:
        if isinstance(node, FieldNode):
            return self._field(parent, node)
        if isinstance(node, FragmentSpreadNode):
            return self._spread(node.name.value)
        condition = getattr(node, "type_condition", None)
        inner = parent if condition is None else self._schema.get_type(condition.name.value)
        return self._selected(inner, getattr(node, "selection_set").selections)  # noqa: B009  # an inline fragment

    def _spread(self, name: str) -> tuple[int, int]:
        if name not in self._known:
            fragment = self._fragments[name]
            on = self._schema.get_type(fragment.type_condition.name.value)
            self._known[name] = self._selected(on, fragment.selection_set.selections)
        return self._known[name]

    def _field(self, parent: object, node: FieldNode) -> tuple[int, int]:
        name = node.name.value
        if name.startswith("__"):
            return (1 if node.selection_set is None else INTROSPECTION), 1
        if not isinstance(parent, GraphQLObjectType | GraphQLInterfaceType) or node.selection_set is None:
            return 1, 1
        field = parent.fields[name]
        inner, depth = self._selected(get_named_type(field.type), node.selection_set.selections)
        return self._times(parent, field, node, inner), depth + 1

    def _times(self, parent: object, field: GraphQLField, node: FieldNode, inner: int) -> int:
        if node.name.value.endswith("_agg"):
            return SCAN + inner
        if not isinstance(get_nullable_type(field.type), GraphQLList):
            return 2 + inner
        return 2 + self._rows(parent, field, node) * (1 + inner)

    def _rows(self, parent: object, field: GraphQLField, node: FieldNode) -> int:
        """How many rows there may be: as many as the client says, or as there usually are."""
        limit = get_argument_values(field, node, self._variables).get("limit")
        is_said = any(argument.name.value == "limit" for argument in node.arguments or ())
        if parent is not self._schema.query_type and not is_said:
            return USUAL_RELATED
        return max(0, min(limit, MOST_ROWS)) if isinstance(limit, int) else MOST_ROWS


def check_aliases(document: DocumentNode) -> None:
    """Refuse a document that asks for the same over and over under other names."""
    count = sum(_aliases(getattr(each, "selection_set", None)) for each in document.definitions)
    if count > MOST_ALIASES:
        raise GraphQLError(f"the document has {count} aliases, {MOST_ALIASES} is the most: ask in several questions")


def _aliases(selection_set: object) -> int:
    count, waiting = 0, [selection_set]
    while waiting:
        for node in getattr(waiting.pop(), "selections", ()):
            count += getattr(node, "alias", None) is not None
            waiting.append(getattr(node, "selection_set", None))
    return count
