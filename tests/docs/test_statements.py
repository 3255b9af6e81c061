"""Every statement of the store stands on its page."""

import re

from tests.docs import pages
from tests.house import sources

WRITTEN = re.compile(r"\bstatement\(\s*f?\"([a-z_]+)\"")


def test_every_statement_stands_on_its_page() -> None:
    page = (pages.DOCS / "statements.md").read_text()
    written = [name for source in sources.product() if source.room == "store" for name in WRITTEN.findall(source.text)]

    assert len(written) > 50
    assert [] == [name for name in written if f"### {name}\n" not in page]
