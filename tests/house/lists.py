"""The written lists that the rules of the house look into; each exception has its reason here."""

from typing import NamedTuple


class Library(NamedTuple):
    """What pip calls a library, the extra that brings it, and the only rooms or files that import it."""

    distribution: str
    extra: str
    homes: tuple[str, ...]


BASE = ""  # not an extra: every head node has it
STANDARD = "standard"  # part of Python, but with a home all the same

LIBRARIES = {
    "msgspec": Library("msgspec", BASE, ("everywhere",)),
    "structlog": Library("structlog", BASE, ("everywhere",)),
    "yaml": Library("pyyaml", BASE, ("dialects/opeva/yamls.py", "daemon/reference.py")),
    "click": Library("click", BASE, ("cli",)),
    "rich": Library("rich", BASE, ("cli",)),
    "httpx2": Library("httpx2", BASE, ("client/http.py",)),
    "sqlite3": Library("sqlite3", STANDARD, ("store", "daemon/journal.py", "daemon/staging/verified.py")),
    "awscrt": Library("awscrt", "server", ("dialects/s3/checksums.py",)),
    "apsw": Library("apsw", "server", ("store",)),
    "psycopg": Library("psycopg", "postgres", ("store",)),
    "psycopg_pool": Library("psycopg", "postgres", ("store",)),
    "starlette": Library("starlette", "server", ("server", "dialects")),
    "anyio": Library("anyio", "server", ("server", "dialects")),
    "uvicorn": Library("uvicorn", "server", ("server",)),
    "uvloop": Library("uvloop", "server", ("server",)),
    "httptools": Library("httptools", "server", ("server",)),
    "prometheus_client": Library("prometheus-client", "server", ("server",)),
    "cryptography": Library("cryptography", "server", ("server",)),
    "argon2": Library("argon2-cffi", "server", ("server",)),
    "joserfc": Library("joserfc", "server", ("server",)),
    "obstore": Library("obstore", "server", ("store",)),
    "graphql": Library("graphql-core", "server", ("dialects/graphql",)),
    "strawberry": Library("strawberry-graphql", "server", ("dialects/graphql",)),
    "duckdb": Library("duckdb", "query", ("cli/querying.py",)),
    "opentelemetry": Library("opentelemetry-sdk", "otel", ("server",)),
}

# what a pure room may import besides its own kind; a module stands here because it only computes
PURE_LIBRARIES = frozenset(
    {
        "abc",
        "base64",
        "binascii",
        "bisect",
        "codecs",
        "collections",
        "csv",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
        "fnmatch",
        "functools",
        "hashlib",
        "heapq",
        "hmac",
        "ipaddress",
        "itertools",
        "json",
        "math",
        "msgspec",
        "operator",
        "re",
        "string",
        "textwrap",
        "typing",
        "types",
        "unicodedata",
        "urllib.parse",
        "uuid",
        "xml.parsers",
    }
)

# what the pure modules above could still do to ask the world
BANNED_CALLS = frozenset(
    {
        "now",
        "utcnow",
        "today",
        "uuid1",
        "uuid4",
        "uuid6",
        "uuid7",
        "getnode",
        "open",
        "input",
        "print",
        "__import__",
    }
)

# files outside the store that speak SQL -> to which database
OWN_SQL: dict[str, str] = {
    "daemon/journal.py": "the worker's own file, on a machine that has no store",
    "daemon/staging/verified.py": "another one, which may be lost",
}

# (file, function) -> which process boundary this is
BROAD_EXCEPTS: dict[tuple[str, str], str] = {
    ("daemon/crew.py", "_perform"): "from a thread that does something about a job to the loop that decides",
    ("server/edge.py", "_answer"): "from a request that failed to its client, who is told 500",
    ("server/background.py", "_tried"): "a sweep that fails is tried again when its time comes",
    ("server/opeva.py", "_round"): "files that cannot be brought up to date now are tried again",
    ("store/group_commit.py", "perform"): "from the writer's thread to the caller who waits",
    ("store/group_commit.py", "_apart"): "undoes what failed and lets it out",
    ("store/group_commit.py", "tell"): "from a database thread to listeners who wait for no answer",
    ("store/readers.py", "_look"): "from a reading thread to the caller who waits",
    ("store/postgres.py", "_finish"): "from a session's thread to the caller who waits",
    ("store/postgres.py", "_perform"): "the work fails alone; what its guard wrote is still committed",
}

# the only file that gives a job another state
MOVES = "core/moves.py"

# files besides the store's whose business is what has no type yet -> why
LOOSE_TYPES: dict[str, str] = {
    "dialects/endpoint.py": "turns any typed function into a route",
}

# test files that replace something of the world (never of ours) -> what, and why no simulator does
PATCHES: dict[str, str] = {}

# test files that wait in real time -> for what
SLEEPS: dict[str, str] = {
    "tests/server/streaming.py": "a server that has to notice that a connection is gone",
}

# files that are longer than a file may be -> why
LONG_FILES: dict[str, str] = {}

# the median function of the product, in lines without its docstring; this number only goes down
MEDIAN_FUNCTION = 6

# rooms of equals, which must have a roll-call as soon as there is anything in them
CALLED_ROOMS = ("dialects", "schedulers")
