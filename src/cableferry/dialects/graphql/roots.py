"""What a question may begin with: each table as a list, and how many rows it has."""

from typing import TypeVar

import strawberry
from strawberry.schema.config import StrawberryConfig

from cableferry.core import searches
from cableferry.core.searches import Search
from cableferry.dialects.graphql import filters, rows
from cableferry.dialects.graphql.filters import (
    ArtifactFilter,
    ArtifactOrder,
    FileFilter,
    FileOrder,
    JobFilter,
    JobOrder,
    Page,
    TransitionFilter,
    TransitionOrder,
    WorkerFilter,
    WorkerOrder,
)
from cableferry.dialects.graphql.rows import Artifact, Ask, File, Job, Transition, Worker
from cableferry.dialects.graphql.scalars import SCALARS, Long
from cableferry.engine import browsing
from cableferry.engine.browsing import ARTIFACTS, FILES, JOBS, TRANSITIONS, WORKERS
from cableferry.store.searches import Table

T = TypeVar("T")

LIMIT = 100


@strawberry.type(name="HpcAggregate", description="What can be said of all rows together.")
class Aggregate:
    count: Long

    @strawberry.field
    def exists(self) -> bool:
        return self.count > 0


@strawberry.type(name="Query")
class Query:
    """Lists take a filter, an order, and a limit of up to 1000 with an offset or the cursor of a row."""

    @strawberry.field(name="HpcJobs")
    def jobs(
        self,
        info: Ask,
        filter: JobFilter | None = None,
        orderby: JobOrder | None = None,
        limit: int | None = LIMIT,
        offset: int | None = 0,
        after: str | None = None,
    ) -> list[Job] | None:
        found = _found(info, JOBS, filter, Page(orderby, limit, offset, after))
        return [rows.job(job, cursor) for job, cursor in found]

    @strawberry.field(name="HpcJobTransitions")
    def transitions(
        self,
        info: Ask,
        filter: TransitionFilter | None = None,
        orderby: TransitionOrder | None = None,
        limit: int | None = LIMIT,
        offset: int | None = 0,
        after: str | None = None,
    ) -> list[Transition] | None:
        found = _found(info, TRANSITIONS, filter, Page(orderby, limit, offset, after))
        return [rows.transition(transition, None, cursor) for transition, cursor in found]

    @strawberry.field(name="HpcWorkers")
    def workers(
        self,
        info: Ask,
        filter: WorkerFilter | None = None,
        orderby: WorkerOrder | None = None,
        limit: int | None = LIMIT,
        offset: int | None = 0,
        after: str | None = None,
    ) -> list[Worker] | None:
        found = _found(info, WORKERS, filter, Page(orderby, limit, offset, after))
        return [rows.worker(worker, cursor) for worker, cursor in found]

    @strawberry.field(name="HpcArtifacts")
    def artifacts(
        self,
        info: Ask,
        filter: ArtifactFilter | None = None,
        orderby: ArtifactOrder | None = None,
        limit: int | None = LIMIT,
        offset: int | None = 0,
        after: str | None = None,
    ) -> list[Artifact] | None:
        found = _found(info, ARTIFACTS, filter, Page(orderby, limit, offset, after))
        return [rows.artifact(artifact, cursor) for artifact, cursor in found]

    @strawberry.field(name="HpcArtifactFiles")
    def files(
        self,
        info: Ask,
        filter: FileFilter | None = None,
        orderby: FileOrder | None = None,
        limit: int | None = LIMIT,
        offset: int | None = 0,
        after: str | None = None,
    ) -> list[File] | None:
        found = _found(info, FILES, filter, Page(orderby, limit, offset, after))
        return [rows.file(file, None, cursor) for file, cursor in found]

    @strawberry.field(name="HpcJobs_agg")
    def jobs_agg(self, info: Ask, filter: JobFilter | None = None) -> Aggregate | None:
        return _counted(info, JOBS, filter)

    @strawberry.field(name="HpcJobTransitions_agg")
    def transitions_agg(self, info: Ask, filter: TransitionFilter | None = None) -> Aggregate | None:
        return _counted(info, TRANSITIONS, filter)

    @strawberry.field(name="HpcWorkers_agg")
    def workers_agg(self, info: Ask, filter: WorkerFilter | None = None) -> Aggregate | None:
        return _counted(info, WORKERS, filter)

    @strawberry.field(name="HpcArtifacts_agg")
    def artifacts_agg(self, info: Ask, filter: ArtifactFilter | None = None) -> Aggregate | None:
        return _counted(info, ARTIFACTS, filter)

    @strawberry.field(name="HpcArtifactFiles_agg")
    def files_agg(self, info: Ask, filter: FileFilter | None = None) -> Aggregate | None:
        return _counted(info, FILES, filter)


def _found(info: Ask, table: Table[T], filter: object, page: Page) -> list[tuple[T, str]]:
    """The rows, each with the cursor behind which the next page begins."""
    info.context.check_time()
    search = filters.search(table, filter, page)
    order = search.order or browsing.first_order(table)
    found = browsing.find(info.context.tx, table, info.context.pool, search)
    info.context.count(len(found))
    return [(each.value, searches.cursor(order, each.place)) for each in found]


def _counted(info: Ask, table: Table[T], filter: object) -> Aggregate:
    info.context.check_time()
    wanted = Search(filters.matches(table, filter))
    return Aggregate(count=Long(browsing.count(info.context.tx, table, info.context.pool, wanted)))


def schema() -> strawberry.Schema:
    return strawberry.Schema(query=Query, config=StrawberryConfig(auto_camel_case=False, scalar_map=SCALARS))
