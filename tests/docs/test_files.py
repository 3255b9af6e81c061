"""The settings files that the pages show are taken by the programs that they are for."""

import tomllib
from pathlib import Path

import pytest

from cableferry.cli import connection
from cableferry.daemon import reference, worker_file
from cableferry.server import sources
from tests.docs import pages
from tests.docs.pages import Block
from tools.docs import cli, settings

SHOWN = [(page, block) for page in pages.every() for block in pages.blocks(page) if block.language == "toml"]


def _id(value: Path | Block) -> str:
    return pages.name(value) if isinstance(value, Path) else value.text.strip().splitlines()[0]


@pytest.mark.parametrize(("page", "block"), SHOWN, ids=_id)
def test_every_shown_settings_file_is_taken(page: Path, block: Block, tmp_path: Path) -> None:
    file = tmp_path / "shown.toml"
    file.write_text(block.text)

    if block.marks == {"worker"}:
        worker_file.load(file)
    elif block.text.strip() == cli.CLIENT_FILE.strip():
        assert set(tomllib.loads(block.text)) <= set(connection.Target.__struct_fields__)
    else:
        assert block.marks == {"settings"} or block.text.strip() == settings.EXAMPLE.strip()
        sources.load(_without_files(file), {}, {})


YAML = [(page, block) for page in pages.every() for block in pages.blocks(page) if block.marks == {"daemon"}]


@pytest.mark.parametrize(("page", "block"), YAML, ids=_id)
def test_every_shown_configuration_is_taken(page: Path, block: Block, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(block.text)

    # a page may show one section alone
    loaded = reference.load(file)
    assert loaded.profiles or loaded.web.buckets


def _without_files(file: Path) -> Path:
    """Secrets that would be read from files of another machine are left out."""
    lines = file.read_text().splitlines()
    file.write_text("\n".join(line for line in lines if "_file =" not in line))
    return file
