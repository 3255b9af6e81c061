"""Uploads that may be continued, as the tus protocol has them and as the draft of HTTP has them."""

from functools import partial

from cableferry.dialects import problems
from cableferry.dialects.endpoint import Dialect, Headers
from cableferry.dialects.uploads import beginning, direct, resources
from cableferry.wire import tus
from cableferry.wire.emx2 import PREFIX
from cableferry.wire.emx2.words import STATUS_WORDS


def _demand_nothing(headers: Headers) -> None:
    """Clients of these protocols know nothing of ours; what theirs demand, each endpoint looks at."""


DIALECT = Dialect(
    name="uploads",
    prefix=PREFIX,
    endpoints=(*beginning.ENDPOINTS, *resources.ENDPOINTS, *direct.ENDPOINTS),
    check_headers=_demand_nothing,
    render=partial(problems.render, words=STATUS_WORDS),
    answer_headers=((b"tus-resumable", tus.VERSION.encode()),),
)
