"""Makes a worker known to its server and finds out what that server can do."""

import os
import socket

import structlog

from cableferry.client.emx2 import Emx2
from cableferry.daemon.config import Config
from cableferry.daemon.upstreams.plain import Plain
from cableferry.daemon.upstreams.protocol import Upstream
from cableferry.daemon.upstreams.synced import Synced
from cableferry.wire.emx2.bodies import Capability, RegisterBody, SessionBody

log = structlog.get_logger()


def register(client: Emx2, config: Config, session: str | None) -> Upstream:
    """The server as this worker talks to it from now on; without a session, beside a daemon that has one."""
    answer = client.register(_body(config, session))
    log.info("worker registered", worker=config.worker_id, server=client.base_url, is_plain=answer.extensions is None)
    if answer.extensions is None:
        client.speak_for(None)
        return Plain(client, config)
    client.speak_for(session if answer.extensions.sessions else None)
    return Synced(client, config.worker_id, answer.extensions)


def _body(config: Config, session: str | None) -> RegisterBody:
    usual = config.max_concurrent_jobs
    capabilities = [
        Capability(one.processor, one.profile, one.max_concurrent_jobs or usual, one.parameters_schema)
        for one in config.profiles
    ]
    host = socket.gethostname()
    named = None if session is None else SessionBody(session, host, os.getpid())
    return RegisterBody(config.worker_id, host, capabilities, named)
