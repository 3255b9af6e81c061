"""What can be asked of a list, and the search that it stands for."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TypeVar

import msgspec
import strawberry

from cableferry.core import paging
from cableferry.core.errors import Invalid
from cableferry.core.searches import Match, Search
from cableferry.dialects.graphql.scalars import Key, Moment
from cableferry.engine import browsing
from cableferry.store.searches import Table
from cableferry.wire.emx2 import artifacts, words

T = TypeVar("T")

MOST_VALUES = 1000
LONGEST_VALUE = 4096


@strawberry.enum(name="SortOrder")
class Direction(Enum):
    ASC = "ASC"
    DESC = "DESC"


@strawberry.input(name="TextFilter", description="The text is one of these.")
class TextFilter:
    equals: list[str] | None = None


@strawberry.input(name="NameFilter", description="The text is one of these, or holds one of these, in any case.")
class NameFilter:
    equals: list[str] | None = None
    like: list[str] | None = None


@strawberry.input(name="TimeFilter", description="The time lies between; null leaves an end open.")
class TimeFilter:
    between: list[Moment | None] | None = None


@strawberry.input(name="WordFilter", description="{name: {equals: …}} and {equals: …} say the same.")
class WordFilter:
    name: TextFilter | None = None
    equals: list[Key] | None = None


@strawberry.input(name="IdFilter", description="{id: {equals: …}} and {equals: …} say the same.")
class IdFilter:
    id: TextFilter | None = None
    equals: list[Key] | None = None


@strawberry.input(name="WorkerIdFilter", description="{worker_id: {equals: …}} and {equals: …} say the same.")
class WorkerIdFilter:
    worker_id: TextFilter | None = None
    equals: list[Key] | None = None


@strawberry.input(name="HpcJobsFilter")
class JobFilter:
    id: TextFilter | None = None
    status: WordFilter | None = None
    processor: TextFilter | None = None
    profile: TextFilter | None = None
    worker_id: WorkerIdFilter | None = None
    submit_user: TextFilter | None = None
    slurm_job_id: TextFilter | None = None
    output_artifact_id: IdFilter | None = None
    created_at: TimeFilter | None = None
    updated_at: TimeFilter | None = None


@strawberry.input(name="HpcJobTransitionsFilter")
class TransitionFilter:
    job_id: IdFilter | None = None
    from_status: WordFilter | None = None
    to_status: WordFilter | None = None
    worker_id: WorkerIdFilter | None = None
    actor: TextFilter | None = None
    timestamp: TimeFilter | None = None


@strawberry.input(name="HpcWorkersFilter")
class WorkerFilter:
    worker_id: TextFilter | None = None
    hostname: NameFilter | None = None
    last_heartbeat_at: TimeFilter | None = None


@strawberry.input(name="HpcArtifactsFilter")
class ArtifactFilter:
    id: TextFilter | None = None
    name: NameFilter | None = None
    type: WordFilter | None = None
    format: WordFilter | None = None
    residence: WordFilter | None = None
    status: WordFilter | None = None
    sha256: TextFilter | None = None
    job_id: IdFilter | None = None
    created_by: TextFilter | None = None
    created_at: TimeFilter | None = None


@strawberry.input(name="HpcArtifactFilesFilter")
class FileFilter:
    artifact_id: IdFilter | None = None
    path: NameFilter | None = None
    role: WordFilter | None = None
    sha256: TextFilter | None = None
    content_type: TextFilter | None = None


@strawberry.input(name="HpcJobsOrderby")
class JobOrder:
    created_at: Direction | None = None
    updated_at: Direction | None = None


@strawberry.input(name="HpcJobTransitionsOrderby")
class TransitionOrder:
    job_id: Direction | None = None
    timestamp: Direction | None = None


@strawberry.input(name="HpcWorkersOrderby")
class WorkerOrder:
    worker_id: Direction | None = None
    last_heartbeat_at: Direction | None = None


@strawberry.input(name="HpcArtifactsOrderby")
class ArtifactOrder:
    created_at: Direction | None = None
    updated_at: Direction | None = None
    name: Direction | None = None
    size_bytes: Direction | None = None


@strawberry.input(name="HpcArtifactFilesOrderby")
class FileOrder:
    path: Direction | None = None
    size_bytes: Direction | None = None


class Page(msgspec.Struct, frozen=True):
    """Which part of a list: in which order, and from where on."""

    orderby: object = None
    limit: int | None = None
    offset: int | None = None
    after: str | None = None


# how a column spells what the protocol spells otherwise
_SPELLINGS: Mapping[tuple[str, str], Callable[[str], str | None]] = {
    ("jobs", "status"): words.state,
    ("transitions", "from_status"): words.state,
    ("transitions", "to_status"): words.state,
    ("artifacts", "status"): words.stage,
    ("artifacts", "residence"): artifacts.residence,
    ("files", "role"): artifacts.role,
}


def search(table: Table[T], filter: object, page: Page) -> Search:
    """A filter and a page as the engine takes them."""
    order, is_descending = _order(table, page.orderby)
    wanted = paging.page(page.limit, page.offset)
    return Search(
        matches=dict(matches(table, filter)),
        order=order,
        is_descending=is_descending,
        limit=wanted.limit,
        offset=wanted.offset,
        behind=None if page.after is None else browsing.behind(table, order, page.after),
    )


def matches(table: Table[T], filter: object) -> Mapping[str, Match]:
    """What is asked of each column."""
    asked = {name: getattr(filter, name, None) for name in table.conditions}
    return {name: _match((table.name, name), value) for name, value in asked.items() if value is not None}


def _match(place: tuple[str, str], asked: object) -> Match:
    match asked:
        case TimeFilter(between=between):
            return _between(between)
        case NameFilter(equals=equals, like=like):
            return Match(_texts(place, equals), _texts(place, like))
        case TextFilter(equals=equals):
            return Match(_texts(place, equals))
        case WordFilter(name=inner, equals=keys) | IdFilter(id=inner, equals=keys):
            return _named(place, inner, keys)
        case WorkerIdFilter(worker_id=inner, equals=keys):
            return _named(place, inner, keys)
        case _:
            return Match()


def _named(place: tuple[str, str], inner: TextFilter | None, keys: Sequence[str] | None) -> Match:
    texts = None if inner is None else inner.equals
    if texts is not None and keys is not None:
        raise Invalid(f"the filter of {place[1]} says equals twice: say it once")
    spell = _SPELLINGS.get(place, str)
    found = _texts(place, keys if texts is None else texts)
    return Match(None if found is None else tuple(spelt for text in found if (spelt := spell(text)) is not None))


def _between(ends: Sequence[Moment | None] | None) -> Match:
    if ends is None:
        return Match()
    if len(ends) != 2:
        raise Invalid("between takes two times, from and to; null leaves an end open")
    return Match(since=ends[0], until=ends[1])


def _texts(place: tuple[str, str], texts: Sequence[str] | None) -> tuple[str, ...] | None:
    if texts is None:
        return None
    if len(texts) > MOST_VALUES:
        raise Invalid(f"the filter of {place[1]} has more than {MOST_VALUES} values: ask in several questions")
    if any("\0" in text or len(text) > LONGEST_VALUE for text in texts):
        raise Invalid(f"a value of {place[1]} holds a NUL character or more than {LONGEST_VALUE} characters")
    return tuple(texts)


def _order(table: Table[T], orderby: object) -> tuple[str, bool]:
    asked = {name: way for name in table.orders if (way := getattr(orderby, name, None)) is not None}
    if len(asked) > 1:
        raise Invalid(f"orderby takes one of {', '.join(table.orders)}, not {' and '.join(asked)} together")
    name, way = next(iter(asked.items()), (browsing.first_order(table), Direction.ASC))
    return name, way is Direction.DESC
