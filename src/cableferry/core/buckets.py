"""What S3's clients see of the artifacts: buckets of keys, and how a list of keys is cut into pages."""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from cableferry.core.errors import Invalid, Kind

# behind every key that begins with the same text: no path holds it
END = "\U0010ffff"
LONGEST_KEY = 2048
# how many keys are looked at in one go where most may be folded into what they begin with
_HANDFUL = 32


class Bucket(StrEnum):
    """The managed artifacts by their id, or the last committed one of each name."""

    ARTIFACTS = "artifacts"
    NAMES = "names"


class Key(msgspec.Struct, frozen=True):
    """A key taken apart: its head says which artifact, the path which file in it."""

    head: str
    path: str

    @property
    def text(self) -> str:
        return f"{self.head}/{self.path}"


class Shown(msgspec.Struct, frozen=True, gc=False):
    """A file as a list of keys shows it."""

    key: str
    size_bytes: int
    sha256: str
    modified_at: datetime
    etag: str | None = None


class Wanted(msgspec.Struct, frozen=True):
    """Which keys a list is about; `after` is the last thing of the page before."""

    prefix: str = ""
    delimiter: str = ""
    after: str = ""
    most: int = 1000

    def common(self, key: str) -> str | None:
        """What the key has in common with others, up to the delimiter behind the prefix."""
        if not self.delimiter or not key.startswith(self.prefix):
            return None
        end = key.find(self.delimiter, len(self.prefix))
        return key[: end + len(self.delimiter)] if end >= 0 else None


class Contents(msgspec.Struct, frozen=True):
    """One page: keys, and what others have in common; `last` is where it stopped when there is more."""

    items: Sequence[Shown] = ()
    prefixes: Sequence[str] = ()
    last: str | None = None


Source = Callable[[str, int], Sequence[Shown]]
"""Some keys behind a text, in their order."""


def etag(known: str | None, sha256: str | None) -> str:
    """What a file is known by: the one its sender expects, else one that nobody takes for an MD5."""
    return f'"{known}"' if known is not None else f'"{sha256}-1"'


def key(text: str) -> Key:
    """Refuse what cannot be the key of a file."""
    head, slash, path = text.partition("/")
    if not (head and slash and path):
        raise Invalid(f"a key is <artifact>/<path>, not {text[:80]}: name both", Kind.BAD_PATH)
    return Key(head, path)


def collect(source: Source, wanted: Wanted) -> Contents:
    """One page of a list; keys with something in common are passed over in one step."""
    entries: list[Shown | str] = []
    after = _behind(wanted)
    while 0 < wanted.most >= len(entries):
        left = wanted.most + 1 - len(entries)
        batch = source(after, min(left, _HANDFUL) if wanted.delimiter else left)
        if not batch:
            break
        after = _add(entries, batch, wanted)
    return page(entries, wanted.most)


def page(entries: Sequence[Shown | str], most: int) -> Contents:
    """As many as were wanted; one more only says that there is more."""
    shown = entries[:most]
    last = shown[-1] if shown and len(entries) > most else None
    return Contents(
        [entry for entry in shown if isinstance(entry, Shown)],
        [entry for entry in shown if isinstance(entry, str)],
        last.key if isinstance(last, Shown) else last,
    )


def _add(entries: list[Shown | str], batch: Sequence[Shown], wanted: Wanted) -> str:
    """Take keys up to the first one that stands for others too; where to go on."""
    for item in batch:
        common = wanted.common(item.key)
        entries.append(item if common is None else common)
        if common is not None:
            return common + END
    return batch[-1].key


def _behind(wanted: Wanted) -> str:
    """Behind the page before: what it showed folded is not shown again."""
    is_folded = wanted.common(wanted.after) == wanted.after
    return wanted.after + END if wanted.after and is_folded else wanted.after
