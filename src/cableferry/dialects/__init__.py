"""HTTP to the engine and back, one file or folder per contract."""

from typing import Protocol

from cableferry.dialects import emx2, graphql, opeva, s3, ui, uploads
from cableferry.dialects.endpoint import Dialect


class Contract(Protocol):
    """A module or package of this room that serves one contract."""

    DIALECT: Dialect


ROLL_CALL: tuple[Contract, ...] = (emx2, opeva, ui, graphql, s3, uploads)
MECHANISM = ("contracts", "denials", "dispositions", "endpoint", "noting", "problems", "resumable")
