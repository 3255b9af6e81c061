"""The patterns that texts on the wire must match, and what to say of one that does not."""

from cableferry.core.logs import STREAM

NO_NUL = r"^[^\x00]*$"
ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
NAME = r"^[^\x00-\x1f\x7f]+$"
# a path segment that no client shortens, and no other endpoint's
WORKER_ID = r"^(?!(\.{1,2}|register)$)[^\x00-\x20\x7f/?#]+$"
SESSION_ID = r"^[A-Za-z0-9._:-]+$"
SHA256 = r"^[0-9a-fA-F]{64}$"

SAID: dict[str, str] = {
    NO_NUL: "it must not hold a NUL character",
    ONE_LINE: "it must not hold line breaks or other control characters",
    NAME: "it must not hold line breaks or other control characters",
    WORKER_ID: "it must not hold spaces, control characters, /, ? or #, and must not be ., .. or register",
    STREAM: "it may hold letters, digits and . _ - only, at most 64, and begins with a letter or digit",
    SHA256: "it must hold the 64 hexadecimal digits of a SHA-256",
    SESSION_ID: "it may hold letters, digits and . _ : - only",
}
