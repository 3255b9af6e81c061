"""How a download is named to whoever saves it (RFC 6266)."""

import re
from urllib.parse import quote

# what a quoted name may hold: no quotes or backslashes, and no % that a browser would take for an escape
_UNSAFE = re.compile(r'[^ -~]|["\\]|%(?=[0-9A-Fa-f]{2})')
# RFC 8187 lets these stand for themselves
_ATTRIBUTE = "!#$&+-.^_`|~"


def attachment(path: str) -> str:
    """Content-Disposition for a file of this path: its last segment, once for old clients and once in UTF-8."""
    name = path.rpartition("/")[2]
    return f"attachment; filename=\"{_UNSAFE.sub('_', name)}\"; filename*=UTF-8''{quote(name, safe=_ATTRIBUTE)}"
