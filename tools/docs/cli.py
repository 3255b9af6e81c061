"""Every command with its options and examples, and the exit codes."""

import textwrap
from collections.abc import Iterator

import click

from cableferry.cli import exits, main
from tools.docs import markdown

PATH = "cli.md"

WIDTH = 100
CLIENT_FILE = """
server = "https://ferry.example.org"
token_file = "/home/me/.config/cableferry/token"
"""


def text() -> str:
    codes = [(str(int(code)), meaning) for code, meaning in exits.MEANINGS.items()]
    return markdown.page(
        "Command line",
        "The command is `cableferry`, and `ferry` is the same with fewer letters.\n"
        "With `--json` every command prints one JSON document, and an error as a problem document on the standard"
        " error stream.\n"
        "Commands that speak to a server find it by `--server`, else by `CABLEFERRY_SERVER`, else in"
        " `~/.config/cableferry/client.toml`, else on this machine; a token comes from `--token-file`,"
        " `CABLEFERRY_TOKEN` or that file.\n"
        "`CABLEFERRY_CLIENT_CONFIG` names another file.",
        markdown.block("toml", CLIENT_FILE),
        "## Exit codes",
        markdown.table(("code", "means"), codes),
        *(block for path, command in commands() for block in _command(path, command)),
    )


def commands(
    path: tuple[str, ...] = ("cableferry",), group: click.Group = main.root
) -> Iterator[tuple[str, click.Command]]:
    """Every command of the tree that does something itself, by what is typed to call it."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from commands((*path, name), command)
        elif command is not None:
            yield " ".join((*path, name)), command


def options(command: click.Command) -> list[click.Option]:
    return [parameter for parameter in command.params if isinstance(parameter, click.Option)]


def _command(path: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=path, max_content_width=WIDTH)
    yield f"## {path}"
    yield _prose(command.help or "")
    yield markdown.block("text", command.get_usage(context).removeprefix("Usage: "))
    rows = [(markdown.code(record[0]), record[1]) for record in _records(command, context)]
    if rows:
        yield markdown.table(("option", "means"), rows)
    if command.epilog:
        yield _examples(command.epilog)


def _records(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    for option in options(command):
        record = option.get_help_record(context)
        if record is not None:
            yield record


def _prose(help_text: str) -> str:
    return markdown.sentences(help_text.replace("\b", ""))


def _examples(epilog: str) -> str:
    """The examples of a command's help, without the heading that click shows above them."""
    lines = epilog.replace("\b", "").strip().splitlines()
    return markdown.block("bash", textwrap.dedent("\n".join(lines[1:])))
