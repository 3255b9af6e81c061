"""Every fragment of the changelog is one sentence of a known kind."""

import re

from tests.house import sources

FRAGMENT = re.compile(r"changes/\+[a-z0-9-]+\.(added|changed|fixed|removed)\.md")


def test_every_fragment_is_one_sentence_of_a_known_kind() -> None:
    files = [s for s in sources.tracked() if s.path.startswith("changes/") and s.path != "changes/README.md"]

    assert [] == [s.path for s in files if not FRAGMENT.fullmatch(s.path)]
    assert [] == [s.path for s in files if not re.fullmatch(r"\S[^\n]*\.\n", s.text)]
