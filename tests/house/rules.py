"""The rules of the house, each a function from one file to what is wrong with it."""

import ast
import re
import sys
from collections.abc import Iterator

from tests.house.lists import (
    BANNED_CALLS,
    BROAD_EXCEPTS,
    LIBRARIES,
    LOOSE_TYPES,
    MOVES,
    OWN_SQL,
    PATCHES,
    PURE_LIBRARIES,
    SLEEPS,
)
from tests.house.sources import Source, dotted, functions, imports, length

PURE_ROOMS = ("core", "wire")
NOT_A_NAME = {"util", "helper", "common", "base", "manager", "service", "handler"}
BAD_CLASS = re.compile(r"^Abstract|(Manager|Service|Handler|Helper|Utils?|Impl)$")
SQL = re.compile(
    r"\s*(select\s.+\sfrom\s|insert\s+(or\s+\w+\s+)?into\s|update\s+\w+\s+set\s|delete\s+from\s|with\s+\w+\s+as\s*\("
    r"|(create|alter|drop)\s+(table|index|trigger|view|unique)\b|begin\s+immediate|pragma\s+\w+|savepoint\s+\w+)",
    re.IGNORECASE | re.DOTALL,
)
# written apart, so that this file does not break its own rule
UNFINISHED = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "HA" + "CK", "X" + "XX")) + r")\b")
REGISTRIES = re.compile(
    "|".join(
        re.escape(first + second)
        for first, second in (
            ("py", "pi.org"),
            ("python", "hosted.org"),
            ("registry.", "npmjs"),
            ("registry.", "yarnpkg"),
            ("npm", "mirror"),
            ("/simple", "/"),
            ("index", "-url"),
            ("find", "-links"),
        )
    )
    + r"|https?://[^\s\"']*(artifactory|nexus|devpi|verdaccio)"
)
EXCUSE = re.compile(r"#\s*(type:\s*ignore|noqa)(?P<codes>[^#]*)(?P<reason>#.*)?$")


def pure_imports(source: Source) -> Iterator[str]:
    """A pure room imports only what cannot look at a clock, a die or the world."""
    if source.room in PURE_ROOMS:
        for found in imports(source):
            if found.library != "cableferry" and not _is_pure(found.module):
                yield source.at(found.node, f"{source.room} is pure and may not import {found.module}")


def _is_pure(module: str) -> bool:
    return any(module == pure or module.startswith(f"{pure}.") for pure in PURE_LIBRARIES)


def pure_calls(source: Source) -> Iterator[str]:
    """A pure room is told the time and the ids; it never asks."""
    if source.room in PURE_ROOMS:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and (name := dotted(node.func).rpartition(".")[2]) in BANNED_CALLS:
                yield source.at(node, f"{source.room} is pure and may not call {name}()")


def libraries_at_home(source: Source) -> Iterator[str]:
    """A library is imported only in the rooms that the written list names."""
    for found in imports(source):
        library = LIBRARIES.get(found.library)
        if library is None:
            if found.library not in sys.stdlib_module_names and found.library != "cableferry":
                yield source.at(found.node, f"{found.library} is not in the list of libraries")
        elif source.room != "testing" and not _is_home(source, library.homes):
            yield source.at(found.node, f"{found.library} belongs in {' and '.join(library.homes)}")


def _is_home(source: Source, homes: tuple[str, ...]) -> bool:
    here = ("everywhere", source.room, source.place)
    return any(home in here or source.place.startswith(f"{home}/") for home in homes)


def indented_imports(source: Source) -> Iterator[str]:
    """An import stands at the top of its file, save in the command line, which starts fast by being lazy."""
    if source.room != "cli":
        for found in imports(source):
            if found.is_indented:
                yield source.at(found.node, f"the import of {found.module} stands inside something")


def sql_outside_the_store(source: Source) -> Iterator[str]:
    """Only the store speaks SQL, and the worker's journal to itself."""
    if source.room != "store" and source.place not in OWN_SQL:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value):
                yield source.at(node, "a statement outside the store")


def moves_in_one_place(source: Source) -> Iterator[str]:
    """A job gets another state in one file, and every guard stands there."""
    if source.place != MOVES:
        for node in ast.walk(source.tree):
            match node:
                case ast.Call(func=func, keywords=keywords) if dotted(func).rpartition(".")[2] == "replace":
                    if "state" in [keyword.arg for keyword in keywords]:
                        yield source.at(node, f"a state is written outside {MOVES}")


def long_functions(source: Source) -> Iterator[str]:
    for function in functions(source):
        if length(function) > 60:
            yield source.at(function, f"{function.name} has {length(function)} lines, 60 is the end")


def long_files(source: Source) -> Iterator[str]:
    lines = source.text.count("\n")
    if lines > 500:
        yield f"{source.path}: {lines} lines, 500 is the end"


def broad_excepts(source: Source) -> Iterator[str]:
    """Catching everything happens at a process boundary, and the boundaries are written down."""
    for name, handler in _handlers(source.tree, "module"):
        caught = _caught(handler)
        if caught & {"", "Exception", "BaseException"} and (source.place, name) not in BROAD_EXCEPTS:
            yield source.at(handler, f"{name} catches everything and is not in BROAD_EXCEPTS")


def _handlers(node: ast.AST, name: str) -> Iterator[tuple[str, ast.ExceptHandler]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ExceptHandler):
            yield name, child
        is_named = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
        yield from _handlers(child, child.name if is_named else name)


def _caught(handler: ast.ExceptHandler) -> set[str]:
    match handler.type:
        case None:
            return {""}
        case ast.Tuple(elts=kinds):
            return {dotted(kind) for kind in kinds}
        case kind:
            return {dotted(kind)}


def loose_types(source: Source) -> Iterator[str]:
    """`Any` stands in no signature, save where bytes become types and rows become values."""
    if source.room != "store" and source.place not in LOOSE_TYPES:
        for function in functions(source):
            arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            extra = [a for a in (function.args.vararg, function.args.kwarg) if a is not None]
            annotations = [function.returns, *(a.annotation for a in arguments + extra)]
            if any(dotted(node) in ("Any", "typing.Any") for a in annotations if a for node in ast.walk(a)):
                yield source.at(function, f"{function.name} has Any in its signature")


def module_names(source: Source) -> Iterator[str]:
    """A module is named for its subject."""
    words = re.split(r"[_/.]", source.place.removesuffix(".py"))
    if bad := NOT_A_NAME & {word.removesuffix("s") for word in words}:
        yield f"{source.path}: {bad.pop()} says nothing about what is inside"


def class_names(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef) and BAD_CLASS.search(node.name):
            yield source.at(node, f"{node.name} is named for a pattern, not for what it is")


def docstrings(source: Source) -> Iterator[str]:
    """A module begins with one sentence that says what it is for."""
    first = (ast.get_docstring(source.tree) or "").partition("\n")[0]
    if not first.endswith(".") or re.search(r"[.!?] +[A-Z]", first):
        yield f"{source.path}: the first line is not one sentence that says what the file is for"


def excuses(source: Source) -> Iterator[str]:
    """Silencing a checker names the rule and the reason."""
    for number, line in enumerate(source.text.splitlines(), 1):
        found = EXCUSE.search(line)
        if found and not (re.search(r"[\[:]\s*\S", found["codes"]) and found["reason"]):
            yield f"{source.path}:{number}: say which rule is silenced, then # and why"


def log_messages(source: Source) -> Iterator[str]:
    """An event is a fixed phrase; what varies goes into fields."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="log")), args=[ast.JoinedStr(), *_]):
                yield source.at(node, "an f-string as a log event")


def mocks(source: Source) -> Iterator[str]:
    """Nothing of ours is replaced in a test: fakes are shipped, and run through the same tests."""
    for found in imports(source):
        if found.module in ("unittest.mock", "mock", "pytest_mock"):
            yield source.at(found.node, "a mock")
    for node in ast.walk(source.tree):
        match node:
            case ast.arg(arg="mocker"):
                yield source.at(node, "a mock")
            case ast.Call(func=func) if _patches(dotted(func)) and source.path not in PATCHES:
                yield source.at(node, f"{dotted(func)} and the file is not in PATCHES")


def _patches(name: str) -> bool:
    return name.rpartition("monkeypatch.")[2] in ("setattr", "setitem", "delattr") and "monkeypatch" in name


def sleeps(source: Source) -> Iterator[str]:
    """Time is passed in, not waited for; sleep(0), which only yields, is no sleep."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(args=[ast.Constant(value=0)]):
                pass
            case ast.Call(func=func) if dotted(func).rpartition(".")[2] == "sleep" and source.path not in SLEEPS:
                yield source.at(node, "a sleep, and the file is not in SLEEPS")


def unfinished(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.text.splitlines(), 1):
        if found := UNFINISHED.search(line):
            yield f"{source.path}:{number}: {found[0]}"


def registries(source: Source) -> Iterator[str]:
    """Where packages come from is the machine's affair."""
    for number, line in enumerate(source.text.splitlines(), 1):
        if found := REGISTRIES.search(line):
            yield f"{source.path}:{number}: names a package registry: {found[0]}"
