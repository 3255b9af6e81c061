"""The cookie that holds a browser's session."""

_NAME = "cableferry_session"
_SECURE_NAME = f"__Host-{_NAME}"


def read(header: str | None, is_secure: bool) -> str | None:
    """The session's text; over TLS only from the cookie that no other host can set."""
    wanted = _name(is_secure)
    for part in (header or "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == wanted and value:
            return value
    return None


def keep(text: str, seconds: int, is_secure: bool) -> str:
    """Out of reach of scripts, and not sent along by other sites."""
    rest = "; Secure" if is_secure else ""
    return f"{_name(is_secure)}={text}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{rest}"


def drop(is_secure: bool) -> str:
    return keep("", 0, is_secure)


def _name(is_secure: bool) -> str:
    return _SECURE_NAME if is_secure else _NAME
