"""Every setting with the ways to give it, its type, its default and what it means."""

import msgspec

from cableferry.server import described
from cableferry.server.described import Described
from cableferry.server.settings import LimitsSection, S3Section
from cableferry.server.sources import ALIASES, OTHERS, PREFIX
from tools.docs import markdown

PATH = "settings.md"

EXAMPLE = """
[server]
host = "0.0.0.0"

[auth]
shared_secret_file = "/etc/cableferry/shared-secret"

[timeouts.processors."text-embedding:v3"]
started_seconds = 3600
"""


def text() -> str:
    return markdown.page(
        "Settings",
        "A setting comes from the flags of `cableferry serve`, else from the environment,"
        " else from a TOML file, else it has its default.\n"
        f"The file is named by `--config` or `{PREFIX}CONFIG`.\n"
        "In the file each section below is a table; an environment variable writes the dots as two underscores.\n"
        "In the environment, lists and tables are written as JSON.\n"
        f"A key that is not in this page is refused, with the nearest one that is, and so is a variable"
        f" that begins with `{PREFIX}` and is neither here nor one of {_others()}.",
        markdown.block("toml", EXAMPLE),
        _aliases(),
        *(block for name, meaning in described.sections() for block in _section(name, meaning)),
        "## One profile, one processor",
        "Each key that is missing is looked for in the profile's section, then in the processor's"
        ' (`timeouts.processors."NAME"`, with the same keys), then in `[timeouts]`.',
        _nested(LimitsSection, 'timeouts.profiles."NAME".'),
        "## One bucket of s3 artifacts",
        "Each bucket has its own table, `[artifacts.buckets.NAME]`.",
        _nested(S3Section, "artifacts.buckets.NAME."),
    )


def _others() -> str:
    return ", ".join(f"`{PREFIX}{name}`" for name in OTHERS)


def _aliases() -> str:
    lines = [f"`{variable}` is another name of the variable of `{key}`." for variable, key in ALIASES.items()]
    return "\n".join(lines)


def _section(name: str, meaning: str) -> tuple[str, str, str]:
    rows = [_row(setting) for setting in described.settings() if setting.key.split(".")[0] == name]
    return f"## {name}", meaning, markdown.table(("setting", "variable", "type", "default", "means"), rows)


def _nested(section: type[msgspec.Struct], prefix: str) -> str:
    """The settings of one table among many of its kind, which have no variable of their own."""
    rows = [(markdown.code(one.key), one.type, one.meaning) for one in described.settings(section, prefix)]
    return markdown.table(("setting", "type", "means"), rows)


def _row(setting: Described) -> tuple[str, ...]:
    default = markdown.code(setting.default)
    return markdown.code(setting.key), markdown.code(setting.variable), setting.type, default, setting.meaning
