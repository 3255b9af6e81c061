"""The project's own files, as the house tests read them."""

import ast
import functools
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = "src/cableferry/"

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source(NamedTuple):
    """One file, by its path from the repository's root."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        return _parsed(self.text)

    @property
    def place(self) -> str:
        """The path inside the package: `core/jobs.py`; elsewhere the path itself."""
        return self.path.removeprefix(PACKAGE)

    @property
    def room(self) -> str:
        return self.place.partition("/")[0]

    def at(self, node: ast.AST, what: str) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 1)}: {what}"


class Import(NamedTuple):
    """One imported module, and whether the import stands inside something."""

    node: ast.stmt
    module: str
    is_indented: bool

    @property
    def library(self) -> str:
        return self.module.partition(".")[0]


@functools.cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


@functools.cache
def tracked() -> tuple[Source, ...]:
    """Every text file that .gitignore does not exclude; a machine with the sources need not have git."""
    ignored = [line for line in (ROOT / ".gitignore").read_text().split() if line] + [".git"]
    names = sorted(_walk(ROOT, ignored))
    return tuple(source for name in names if (source := _read(name)) is not None)


def _walk(folder: Path, ignored: list[str]) -> Iterator[str]:
    for path in folder.iterdir():
        name = path.relative_to(ROOT).as_posix()
        if any(_is_ignored(name, pattern.rstrip("/")) for pattern in ignored):
            continue
        if path.is_dir():
            yield from _walk(path, ignored)
        elif not path.is_symlink():
            yield name


def _is_ignored(name: str, pattern: str) -> bool:
    return fnmatch(f"/{name}" if pattern.startswith("/") else PurePosixPath(name).name, pattern)


def _read(name: str) -> Source | None:
    try:
        return Source(name, (ROOT / name).read_text())
    except UnicodeDecodeError:
        return None


def python() -> list[Source]:
    return [source for source in tracked() if source.path.endswith(".py")]


def product() -> list[Source]:
    return [source for source in python() if source.path.startswith(PACKAGE)]


def tests() -> list[Source]:
    return [source for source in python() if source.path.startswith("tests/")]


def imports(source: Source) -> Iterator[Import]:
    """Every import of a file, the indented ones too."""
    top = set(map(id, source.tree.body))
    for node in ast.walk(source.tree):
        match node:
            case ast.Import():
                yield from (Import(node, alias.name, id(node) not in top) for alias in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                yield Import(node, module, id(node) not in top)


def functions(source: Source) -> Iterator[Function]:
    return (node for node in ast.walk(source.tree) if isinstance(node, Function))


def length(function: Function) -> int:
    """The lines of a function from its def to its end, without its docstring."""
    first = function.body[0]
    has_docstring = ast.get_docstring(function) is not None
    docstring = (first.end_lineno or 0) - first.lineno + 1 if has_docstring else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def dotted(node: ast.AST) -> str:
    """`monkeypatch.setattr` for the expression of that name; empty for anything without a name."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{dotted(value)}.{attribute}"
    return ""
