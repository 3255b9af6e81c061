"""The EMX2 HPC protocol over HTTP."""

from cableferry.dialects.emx2 import artifacts, credentials, files, headers, health, jobs, keeping, logs, workers
from cableferry.dialects.endpoint import Dialect
from cableferry.wire.emx2 import PREFIX, VERSION

DIALECT = Dialect(
    name="emx2",
    prefix=PREFIX,
    endpoints=(
        *health.ENDPOINTS,
        *workers.ENDPOINTS,
        *jobs.ENDPOINTS,
        *logs.ENDPOINTS,
        *artifacts.ENDPOINTS,
        *files.ENDPOINTS,
        *keeping.ENDPOINTS,
        *credentials.ENDPOINTS,
    ),
    check_headers=headers.check,
    render=headers.render,
    answer_headers=((b"x-emx2-api-version", VERSION.encode()),),
)
