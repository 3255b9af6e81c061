"""Two ways to ask for one column: as a row of the reference system, `type { name }`, and as a plain `type`.

The schema has an object `type` and a text `type_text`; a `type` without a selection becomes `type: type_text`.
"""

from dataclasses import replace

from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLObjectType,
    GraphQLSchema,
    NameNode,
    TypeInfo,
    TypeInfoVisitor,
    get_named_type,
    is_composite_type,
    visit,
)
from graphql import Visitor as Walk

SUFFIX = "_text"


def resolved(schema: GraphQLSchema, document: DocumentNode) -> DocumentNode:
    """The document as the schema understands it."""
    info = TypeInfo(schema)
    changed: DocumentNode = visit(document, TypeInfoVisitor(info, _Twins(info)))
    return changed


class _Twins(Walk):
    """Looks at every field with the type that it has in the schema."""

    def __init__(self, info: TypeInfo) -> None:
        super().__init__()
        self._info = info

    def enter_field(self, node: FieldNode, *_: object) -> FieldNode | None:
        parent = self._info.get_parent_type()
        if node.selection_set is not None or not isinstance(parent, GraphQLObjectType):
            return None
        asked, twin = self._info.get_type(), node.name.value + SUFFIX
        if asked is None or not is_composite_type(get_named_type(asked)) or twin not in parent.fields:
            return None
        return replace(node, alias=node.alias or node.name, name=NameNode(value=twin, loc=node.name.loc))
