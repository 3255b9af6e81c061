"""Every SQL statement of the store, as each database gets it."""

import importlib
import pkgutil
from collections.abc import Iterator

from cableferry import store
from cableferry.store.tx import Statement
from tools.docs import markdown

PATH = "statements.md"


def text() -> str:
    files = sorted(module.name for module in pkgutil.iter_modules(store.__path__))
    return markdown.page(
        "Statements",
        "Every SQL statement that the server runs, file by file, under the name of the question it asks.\n"
        "Where only one text stands, both databases run it, PostgreSQL with `%s` for each `?`.\n"
        "The tables themselves are made by the migrations in `src/cableferry/store/migrations`.",
        *(block for file in files for block in _file(file)),
    )


def _file(name: str) -> Iterator[str]:
    found = dict(_statements(f"{store.__name__}.{name}"))
    if found:
        yield f"## store/{name}.py"
        for statement in found.values():
            yield f"### {statement.name}"
            yield _texts(statement)


def _statements(module: str) -> Iterator[tuple[str, Statement]]:
    """The statements a module holds by themselves or in a table of its own, each once."""
    for value in vars(importlib.import_module(module)).values():
        for held in value.values() if isinstance(value, dict) else (value,):
            if isinstance(held, Statement):
                yield held.name, held


def _texts(statement: Statement) -> str:
    if statement.postgres == statement.sqlite.replace("%", "%%").replace("?", "%s"):
        return markdown.block("sql", statement.sqlite)
    texts = {"SQLite": statement.sqlite, "PostgreSQL": statement.postgres}
    return "\n\n".join(f"{name}:\n\n{markdown.block('sql', sql)}" for name, sql in texts.items() if sql)
