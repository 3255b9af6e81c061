"""Signing in and out, and seeing where one is signed in."""

import math

import msgspec

from cableferry.core.access import Need
from cableferry.core.accounts import Session
from cableferry.core.errors import Forbidden, Kind
from cableferry.dialects.denials import TooMany, Unauthorized
from cableferry.dialects.endpoint import Answer, Call, Endpoint
from cableferry.dialects.noting import noted
from cableferry.dialects.ui.desk import Desk, desk, person
from cableferry.engine import deeds, sessions, users
from cableferry.engine.sessions import Attempt
from cableferry.store import users as rows
from cableferry.store.tx import Tx
from cableferry.wire.ui import PREFIX, bodies, cookies

_WRONG = "the name or the password is wrong"
_OWN_SITES = (None, b"same-origin", b"none")


class Proven(msgspec.Struct, frozen=True):
    """The hash that a password was found to fit, None when it did not."""

    stored: str | None

    def __repr__(self) -> str:
        return "Proven()"


def prove(call: Call) -> Proven:
    """Compare a password: counted before, so that many guesses at once do not all slip through."""
    body: bodies.LoginBody = call.body
    check_site(call)
    return check(desk(call), Attempt(body.name, call.address or ""), body.password)


def check_site(call: Call) -> None:
    if call.headers.get(b"sec-fetch-site") not in _OWN_SITES:
        raise Forbidden("a page of another site may not sign you in", Kind.BAD_CSRF)


def check(at: Desk, attempt: Attempt, password: str) -> Proven:
    """Whether the password is the user's; refused for a while after too many wrong ones."""
    wait = at.store.write(lambda tx: sessions.count(tx, attempt, at.patience))
    if wait is not None:
        seconds = math.ceil(wait.total_seconds())
        raise TooMany(f"too many failed sign-ins: try again in {seconds} s", seconds)
    stored = at.store.read(lambda tx: rows.password_of(tx, attempt.name))
    return Proven(stored if at.passwords.is_right(stored, password) else None)


def login(tx: Tx, call: Call) -> Answer:
    body: bodies.LoginBody = call.body
    confirm(tx, call, body.name)
    deeds.note(tx, f"user:{body.name}", "signed in", call.address)
    return opened(tx, call, body.name)


def opened(tx: Tx, call: Call, name: str) -> Answer:
    """A new session of a user who has proven to be one."""
    agent = call.headers.get(b"user-agent", b"").decode("latin-1")[:255] or None
    session = sessions.open_for(tx, name, agent, desk(call).idle)
    if session is None:
        raise Unauthorized(_WRONG)
    me = bodies.me(sessions.person(session.session, session.role), session.session)
    return Answer(me, headers={"Set-Cookie": _cookie(call, session.text)})


def confirm(tx: Tx, call: Call, name: str) -> None:
    """The password was right, and is still the user's."""
    proven: Proven = call.prepared
    if proven.stored is None or rows.password_of(tx, name) != proven.stored:
        raise Unauthorized(_WRONG)
    sessions.forgive(tx, Attempt(name, call.address or ""))


def logout(tx: Tx, call: Call) -> Answer:
    caller = person(call)
    if caller.session is not None:
        sessions.end(tx, caller.name, caller.session)
    return Answer(None, headers={"Set-Cookie": cookies.drop(call.is_secure)})


def sign_out_everywhere(tx: Tx, call: Call) -> Answer:
    count = sessions.end_all(tx, person(call).name)
    gone = cookies.drop(call.is_secure)
    return Answer(bodies.SignedOut(count), headers={"Set-Cookie": gone})


def find(tx: Tx, call: Call) -> bodies.SessionList:
    caller = person(call)
    items = [bodies.session(each, caller.session) for each in sessions.find(tx, caller.name)]
    return bodies.SessionList(items, len(items))


def end(tx: Tx, call: Call) -> None:
    sessions.end(tx, person(call).name, call.path["id"])


def me(tx: Tx, call: Call) -> bodies.MeBody:
    return bodies.me(person(call), _session(tx, call))


def prove_again(call: Call) -> tuple[Proven, str]:
    """Whoever changes their password shows the present one, and gets the new one hashed."""
    body: bodies.PasswordBody = call.body
    name, at = person(call).name, desk(call)
    proven = check(at, Attempt(name, call.address or ""), body.current_password or "")
    return proven, at.passwords.hash(name, body.password)


def set_my_password(tx: Tx, call: Call) -> bodies.UserBody:
    proven, hashed = call.prepared
    caller = person(call)
    confirm(tx, msgspec.structs.replace(call, prepared=proven), caller.name)
    return bodies.user(users.set_password(tx, caller.name, hashed, caller.session or ""))


def _session(tx: Tx, call: Call) -> Session | None:
    caller = person(call)
    return next((each for each in sessions.find(tx, caller.name) if each.id == caller.session), None)


def _cookie(call: Call, text: str) -> str:
    return cookies.keep(text, int(desk(call).idle.total_seconds()), call.is_secure)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST", f"{PREFIX}/login", login, Need.NOTHING, "Sign in; sets the session's cookie",
        answer=bodies.MeBody, mode="write", body=bodies.LoginBody, refusals=(401, 403, 429),
        prepare=prove, needs_protocol_headers=False, keeps_secret=True,
    ),
    Endpoint(
        "POST", f"{PREFIX}/logout", noted("signed out", logout), Need.SELF, "Sign out of this browser",
        answer=None, mode="write", status=204, needs_protocol_headers=False,
    ),
    Endpoint(
        "GET", f"{PREFIX}/me", me, Need.SELF, "Say who is calling",
        answer=bodies.MeBody, needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", f"{PREFIX}/me/password", noted("own password changed", set_my_password), Need.SELF,
        "Change one's own password",
        answer=bodies.UserBody, mode="write", body=bodies.PasswordBody, refusals=(429,),
        prepare=prove_again, needs_protocol_headers=False, keeps_secret=True,
    ),
    Endpoint(
        "GET", f"{PREFIX}/sessions", find, Need.SELF, "List the browsers one is signed in with",
        answer=bodies.SessionList, needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", f"{PREFIX}/sessions/sign-out", noted("signed out everywhere", sign_out_everywhere), Need.SELF,
        "Sign out everywhere",
        answer=bodies.SignedOut, mode="write", needs_protocol_headers=False,
    ),
    Endpoint(
        "DELETE", f"{PREFIX}/sessions/{{id}}", noted("browser signed out", end), Need.SELF, "Sign one browser out",
        answer=None, mode="write", status=204, refusals=(404,), needs_protocol_headers=False,
    ),
)  # fmt: skip
