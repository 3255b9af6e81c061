"""The command that prints completion scripts."""

import click
from click import shell_completion

from cableferry.cli.commands import command


@command(
    "completion",
    "Print the completion script of a shell, for cableferry and ferry.",
    'bash:  eval "$(cableferry completion bash)"\n'
    'zsh:   eval "$(cableferry completion zsh)"\n'
    "fish:  cableferry completion fish | source",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str, as_json: bool) -> None:
    from cableferry.cli import main, output

    kind = shell_completion.get_completion_class(shell)
    assert kind is not None  # noqa: S101 # one of the three above
    names = ("cableferry", "ferry")
    script = "\n".join(kind(main.root, {}, name, "_CABLEFERRY_COMPLETE").source() for name in names)
    if as_json:
        output.document({"shell": shell, "script": script})
    else:
        click.echo(script)
