"""Every file keeps the rules of the house, and every rule is seen to bite."""

import inspect
from collections.abc import Callable, Iterator

import pytest

from tests.house import rules, sources
from tests.house.lists import LONG_FILES
from tests.house.sources import Source

Rule = Callable[[Source], Iterator[str]]


def _short_enough() -> list[Source]:
    return [source for source in sources.python() if source.place not in LONG_FILES]


def _prose() -> list[Source]:
    return [source for source in sources.tracked() if source.path != "LICENSE"]


SCOPES: dict[Rule, Callable[[], list[Source]]] = {
    rules.pure_imports: sources.product,
    rules.pure_calls: sources.product,
    rules.libraries_at_home: sources.product,
    rules.indented_imports: sources.product,
    rules.sql_outside_the_store: sources.product,
    rules.moves_in_one_place: sources.product,
    rules.long_functions: sources.product,
    rules.long_files: _short_enough,
    rules.broad_excepts: sources.product,
    rules.loose_types: sources.product,
    rules.module_names: sources.python,
    rules.class_names: sources.product,
    rules.docstrings: sources.python,
    rules.excuses: sources.python,
    rules.log_messages: sources.product,
    rules.mocks: sources.tests,
    rules.sleeps: sources.tests,
    rules.unfinished: _prose,
    rules.registries: _prose,
}

# what each rule must not let through
BREAKING: list[tuple[Rule, str, str]] = [
    (rules.pure_imports, "core/x.py", "import time"),
    (rules.pure_imports, "core/x.py", "from os import path"),
    (rules.pure_imports, "core/x.py", "def f():\n    import random"),
    (rules.pure_imports, "wire/emx2/x.py", "from urllib import request"),
    (rules.pure_calls, "core/x.py", "moved_at = datetime.now(UTC)"),
    (rules.pure_calls, "wire/x.py", "id = uuid.uuid4()"),
    (rules.pure_calls, "core/x.py", "text = open('x').read()"),
    (rules.libraries_at_home, "engine/x.py", "import apsw"),
    (rules.libraries_at_home, "client/emx2.py", "from httpx2 import Client"),
    (rules.libraries_at_home, "daemon/x.py", "import psycopg.rows"),
    (rules.libraries_at_home, "server/x.py", "import sqlalchemy"),
    (rules.indented_imports, "engine/x.py", "def f():\n    import json"),
    (rules.indented_imports, "engine/x.py", "if TYPE_CHECKING:\n    from a import b"),
    (rules.sql_outside_the_store, "engine/x.py", "sql = 'select id from jobs'"),
    (rules.sql_outside_the_store, "server/x.py", "db.execute('''\n  UPDATE jobs SET state = 1''')"),
    (rules.sql_outside_the_store, "server/x.py", "db.execute(f'insert into jobs values ({x})')"),
    (rules.moves_in_one_place, "engine/x.py", "job = replace(job, state=State.READY)"),
    (rules.moves_in_one_place, "core/jobs.py", "job = msgspec.structs.replace(job, state=State.READY)"),
    (rules.long_functions, "engine/x.py", "def f():\n" + "    x = 1\n" * 60),
    (rules.long_files, "engine/x.py", "x = 1\n" * 501),
    (
        rules.broad_excepts,
        "engine/x.py",
        "def f():\n    try:\n        g()\n    except Exception:\n        pass",
    ),
    (rules.broad_excepts, "engine/x.py", "try:\n    g()\nexcept (ValueError, BaseException):\n    pass"),
    (rules.broad_excepts, "engine/x.py", "try:\n    g()\nexcept:\n    pass"),
    (rules.loose_types, "engine/x.py", "def f(body: dict[str, Any]) -> None: ..."),
    (rules.loose_types, "engine/x.py", "def f(*bodies: int) -> Any: ..."),
    (rules.module_names, "engine/utils.py", ""),
    (rules.module_names, "server/request_handlers.py", ""),
    (rules.module_names, "base/x.py", ""),
    (rules.class_names, "engine/x.py", "class JobManager: ..."),
    (rules.class_names, "engine/x.py", "class AbstractJob: ..."),
    (rules.docstrings, "engine/x.py", "x = 1"),
    (rules.docstrings, "engine/x.py", '"""Does this. And that."""'),
    (rules.docstrings, "engine/x.py", '"""Some jobs"""'),
    (rules.excuses, "engine/x.py", "x = f()  # type: " + "ignore"),
    (rules.excuses, "engine/x.py", "x = f()  # type: " + "ignore[call-arg]"),
    (rules.excuses, "engine/x.py", "x = f()  # no" + "qa"),
    (rules.log_messages, "engine/x.py", "log.info(f'job {id} moved')"),
    (rules.mocks, "tests/x.py", "from unittest.mock import patch"),
    (rules.mocks, "tests/x.py", "def test_x(mocker): ..."),
    (rules.mocks, "tests/x.py", "monkeypatch.setattr(jobs, 'get', None)"),
    (rules.sleeps, "tests/x.py", "time.sleep(1)"),
    (rules.sleeps, "tests/x.py", "await anyio.sleep(0.1)"),
    (rules.unfinished, "engine/x.py", "# TO" + "DO later"),
    (rules.registries, "requirements.txt", "--index" + "-url https://x"),
    (rules.registries, "README.md", "see py" + "pi.org"),
]

# what looks like a breach and is none
KEEPING: list[tuple[Rule, str, str]] = [
    (
        rules.pure_imports,
        "core/x.py",
        "import hmac\nfrom urllib.parse import quote\nfrom cableferry.core import jobs",
    ),
    (rules.pure_imports, "engine/x.py", "import time"),
    (rules.pure_calls, "core/x.py", "age = tx.now - job.moved_at"),
    (rules.libraries_at_home, "client/http.py", "import httpx2"),
    (rules.indented_imports, "cli/x.py", "def f():\n    import cableferry.server.app"),
    (rules.sql_outside_the_store, "store/x.py", "sql = 'select id from jobs'"),
    (rules.sql_outside_the_store, "cli/x.py", "help = 'Update the jobs'"),
    (rules.moves_in_one_place, "core/moves.py", "job = replace(job, state=State.READY)"),
    (rules.moves_in_one_place, "core/x.py", "word = text.replace(old, new)"),
    (rules.long_functions, "engine/x.py", 'def f():\n    """' + "\n" * 70 + '"""'),
    (rules.broad_excepts, "engine/x.py", "try:\n    g()\nexcept ValueError:\n    pass"),
    (rules.module_names, "core/database.py", ""),
    (rules.docstrings, "core/x.py", '"""When a job may move, e.g. from new to ready.\n\nMore. And more."""'),
    (
        rules.excuses,
        "core/x.py",
        "x = f()  # type: " + "ignore[call-arg]  # the stub is older than the library",
    ),
    (rules.mocks, "tests/x.py", "monkeypatch.setenv('HOME', '')"),
    (rules.sleeps, "tests/x.py", "await asyncio.sleep(0)"),
]


def _as_source(path: str, text: str) -> Source:
    is_whole = path.startswith("tests/") or "/" not in path
    return Source(path if is_whole else sources.PACKAGE + path, text)


@pytest.mark.parametrize("rule", SCOPES, ids=lambda rule: rule.__name__)
def test_every_file_keeps_the_rule(rule: Rule) -> None:
    breaches = [breach for source in SCOPES[rule]() for breach in rule(source)]

    assert [] == breaches


@pytest.mark.parametrize(("rule", "path", "text"), BREAKING, ids=lambda value: getattr(value, "__name__", ""))
def test_the_rule_bites(rule: Rule, path: str, text: str) -> None:
    assert [] != list(rule(_as_source(path, text)))


@pytest.mark.parametrize(("rule", "path", "text"), KEEPING, ids=lambda value: getattr(value, "__name__", ""))
def test_the_rule_lets_this_through(rule: Rule, path: str, text: str) -> None:
    assert [] == list(rule(_as_source(path, text)))


def test_every_rule_is_applied_and_seen_to_bite() -> None:
    written = {
        rule
        for name, rule in inspect.getmembers(rules, inspect.isfunction)
        if rule.__module__ == rules.__name__ and not name.startswith("_")
    }

    assert written == set(SCOPES)
    assert written == {rule for rule, _, _ in BREAKING}
