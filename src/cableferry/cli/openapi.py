"""The command that prints the OpenAPI document."""

from cableferry.cli import output
from cableferry.cli.commands import command


@command("openapi", "Print the OpenAPI document of every endpoint.", "cableferry openapi > openapi.json")
def openapi(as_json: bool) -> None:
    from cableferry.server import openapi as described

    output.document(described.document())
