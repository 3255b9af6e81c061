"""The product's server with one endpoint more: an echo that does all but touch the database."""

from datetime import UTC, datetime

import structlog

from cableferry.core.access import Need
from cableferry.core.jobs import Draft, Job
from cableferry.dialects.endpoint import Answer, Call, Endpoint
from cableferry.server import app, logs, serve, sources
from cableferry.store.tx import Tx
from cableferry.wire.emx2 import PREFIX, bodies, words

log = structlog.get_logger()


def main() -> None:
    settings = sources.from_process().settings
    logs.configure(settings.log)
    listening = serve.listen(settings.server)
    application = app.create_app(settings, extra_endpoints=(ECHO,))
    log.info("bench server listening", address=serve.address(settings.server, listening))
    serve.server(settings, application).run([listening])


def echo(tx: Tx, call: Call) -> Answer:
    """Answer a transition with a whole job, as the real endpoint does."""
    said: bodies.TransitionBody = call.body
    return Answer(bodies.job(_job(call.path["job_id"], said)), headers={"ETag": '"2"'})


def _job(id_: str, said: bodies.TransitionBody) -> Job:
    now = datetime.now(UTC)
    draft = Draft("text-embedding", "gpu-medium")
    return Job(
        key=1, id=id_, pool="emx2", state=words.state(said.status), wish=None, cause=None, attempt=1, epoch=1,
        revision=2, processor=draft.processor, profile=draft.profile, priority=0, timeout_seconds=None,
        submit_user=None, created_by=None, worker=said.worker_id, slurm_job_id=said.slurm_job_id,
        output_artifact_id=None, log_artifact_id=None, detail=said.detail, phase=None, message=None, progress=None,
        created_at=now, moved_at=now, touched_at=now, claimed_at=now, submitted_at=now, started_at=now,
        ended_at=None, due_at=None, ends_by=None, parameters=draft.parameters, inputs=draft.inputs,
    )  # fmt: skip


ECHO = Endpoint(
    "POST",
    f"{PREFIX}/bench/{{job_id}}/transition",
    echo,
    Need.WORK,
    "Answer without the database",
    answer=bodies.JobBody,
    mode="pure",
    body=bodies.TransitionBody,
)

if __name__ == "__main__":
    main()
