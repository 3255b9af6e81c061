"""What the program says about itself, and how little it loads to say it."""

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from cableferry.cli import main
from cableferry.cli.exits import MEANINGS, Exit
from tests.cli.ferry import ferry

HEAVY = {"msgspec", "httpx2", "rich", "structlog", "asyncio", "sqlite3", "ssl"}


def _tree(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    found: list[tuple[tuple[str, ...], click.Command]] = []
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        found.append(((*path, name), command))
        if isinstance(command, click.Group):
            found += _tree(command, (*path, name))
    return found


TREE = _tree(main.root)
LEAVES = [(path, command) for path, command in TREE if not isinstance(command, click.Group)]


def test_help_loads_nothing_that_it_does_not_need() -> None:
    program = "import sys; from cableferry.cli.main import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert set() == HEAVY & set(done.stderr.split())


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=[" ".join(path) for path, _ in LEAVES])
def test_every_command_prints_json_and_shows_an_example(path: tuple[str, ...], command: click.Command) -> None:
    options = {option for parameter in command.params for option in parameter.opts}

    assert "--json" in options
    assert f"cableferry {' '.join(path)}" in (command.epilog or "")


def test_no_option_takes_a_secret() -> None:
    options = {option for _, command in TREE for parameter in command.params for option in parameter.opts}

    assert {"--token", "--secret", "--password"} & options == set()


def test_every_exit_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Exit)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_call_the_program_under_both_its_names(tmp_path: Path, shell: str) -> None:
    script = ferry(tmp_path, "completion", shell).out

    assert "_CABLEFERRY_COMPLETE" in script
    assert {"_cableferry_completion", "_ferry_completion"} <= set(re.findall(r"\w+_completion\b", script))


def test_completion_knows_the_commands(tmp_path: Path) -> None:
    more = {"_CABLEFERRY_COMPLETE": "bash_complete", "COMP_WORDS": "cableferry jobs wa", "COMP_CWORD": "2"}

    assert ferry(tmp_path, more=more).out.split() == ["plain,wait", "plain,watch"]


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    program = f"{sys.executable} -m cableferry.cli.main openapi; echo $? >{tmp_path}/code"
    subprocess.run(["bash", "-c", f"({program}) 2>{tmp_path}/err | head -c 1 >/dev/null"], check=True)

    assert ((tmp_path / "code").read_text(), (tmp_path / "err").read_text()) == ("0\n", "")


@pytest.mark.parametrize(
    ("library", "arguments", "extra"),
    [
        ("uvicorn", ("serve", "--auth-off", "--port", "0"), "server"),
        ("uvicorn", ("openapi",), "server"),
        ("apsw", ("users", "create", "ada", "--no-password"), "server"),
        ("psycopg", ("db", "upgrade", "--database", "postgresql://localhost/none"), "postgres"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else value,
)
def test_what_a_head_node_does_not_install_is_named(
    tmp_path: Path, library: str, arguments: tuple[str, ...], extra: str
) -> None:
    (tmp_path / f"{library}.py").write_text(f"raise ModuleNotFoundError('none', name='{library}')\n")

    ended = ferry(
        tmp_path, *arguments, more={"PYTHONPATH": str(tmp_path), "CABLEFERRY_DATABASE__DATA_DIR": str(tmp_path)}
    )

    assert (ended.code, library in ended.err, f"cableferry[{extra}]" in ended.err) == (1, True, True)
    assert "Traceback" not in ended.err
