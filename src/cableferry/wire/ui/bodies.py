"""The bodies of accounts, sessions and tokens."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from cableferry.core import access
from cableferry.core.access import Person
from cableferry.core.accounts import AccessKey, Session, Token, User
from cableferry.wire import texts

Name = Annotated[str, Meta(min_length=1, max_length=64)]
Password = Annotated[str, Meta(min_length=1, max_length=1024)]
Label = Annotated[str, Meta(max_length=255, pattern=texts.ONE_LINE)]
RoleWord = Annotated[str, Meta(max_length=40)]


class LoginBody(msgspec.Struct, frozen=True):
    name: Name
    password: Password

    def __repr__(self) -> str:
        return f"LoginBody(name={self.name!r})"


class FirstOwner(msgspec.Struct, frozen=True):
    is_needed: bool


class FirstOwnerBody(msgspec.Struct, frozen=True):
    """`token` is what the server printed when it started."""

    name: Name
    password: Password
    token: Annotated[str, Meta(min_length=1, max_length=255)]

    def __repr__(self) -> str:
        return f"FirstOwnerBody(name={self.name!r})"


class PasswordBody(msgspec.Struct, frozen=True):
    """A new password; one's own also needs the present one."""

    password: Password
    current_password: Password | None = None

    def __repr__(self) -> str:
        return "PasswordBody()"


class CreateUserBody(msgspec.Struct, frozen=True):
    """Without a password the account can only be used by its tokens."""

    name: Name
    role: RoleWord
    password: Password | None = None

    def __repr__(self) -> str:
        return f"CreateUserBody(name={self.name!r}, role={self.role!r})"


class RoleBody(msgspec.Struct, frozen=True):
    role: RoleWord


class CreateTokenBody(msgspec.Struct, frozen=True):
    """Without a role the token reaches as far as its maker; without an end it lasts until it is revoked."""

    label: Label | None = None
    role: RoleWord | None = None
    expires_in_seconds: Annotated[int, Meta(ge=1, le=10**9)] | None = None


class UserBody(msgspec.Struct, frozen=True):
    name: str
    role: str
    created_at: datetime
    disabled_at: datetime | None
    has_password: bool


class UserList(msgspec.Struct, frozen=True):
    items: list[UserBody]
    count: int


class SessionBody(msgspec.Struct, frozen=True):
    id: str
    agent: str | None
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    is_current: bool


class SessionList(msgspec.Struct, frozen=True):
    items: list[SessionBody]
    count: int


class SignedOut(msgspec.Struct, frozen=True):
    sessions: int


class MeBody(msgspec.Struct, frozen=True):
    """Who is calling; the CSRF token goes into X-CSRF-Token of everything that changes something."""

    name: str
    role: str
    csrf_token: str | None = None
    expires_at: datetime | None = None


class TokenBody(msgspec.Struct, frozen=True):
    id: str
    user: str
    label: str | None
    role: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None


class NewTokenBody(TokenBody, frozen=True, kw_only=True):
    """The one answer that shows the token's text."""

    token: str

    def __repr__(self) -> str:
        return f"NewTokenBody(id={self.id!r})"


class TokenList(msgspec.Struct, frozen=True):
    items: list[TokenBody]
    count: int


class IssueAccessKeyBody(msgspec.Struct, frozen=True):
    """One's own key, or a worker's; for reading unless it may write, and without an end until it is revoked."""

    worker: Annotated[str, Meta(min_length=1, max_length=255, pattern=texts.ONE_LINE)] | None = None
    may_write: bool = False
    label: Label | None = None
    expires_in_seconds: Annotated[int, Meta(ge=1, le=10**9)] | None = None


class AccessKeyBody(msgspec.Struct, frozen=True):
    """A user's or a worker's, never both."""

    id: str
    user: str | None
    worker: str | None
    role: str | None
    may_write: bool
    label: str | None
    created_at: datetime
    created_by: str | None
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None


class NewAccessKeyBody(AccessKeyBody, frozen=True, kw_only=True):
    """The one answer that shows the key's secret."""

    secret: str

    def __repr__(self) -> str:
        return f"NewAccessKeyBody(id={self.id!r})"


class AccessKeyList(msgspec.Struct, frozen=True):
    items: list[AccessKeyBody]
    count: int


def user(value: User) -> UserBody:
    role = access.word(value.role)
    return UserBody(value.name, role, value.created_at, value.disabled_at, value.has_password)


def session(value: Session, current: str | None) -> SessionBody:
    is_current = value.id == current
    return SessionBody(value.id, value.agent, value.created_at, value.seen_at, value.expires_at, is_current)


def me(person: Person, session: Session | None) -> MeBody:
    role = access.word(person.role)
    if session is None:
        return MeBody(person.name, role)
    return MeBody(person.name, role, session.csrf, session.expires_at)


def token(value: Token) -> TokenBody:
    return TokenBody(*_token_fields(value))


def new_token(value: Token, text: str) -> NewTokenBody:
    return NewTokenBody(*_token_fields(value), token=text)


def access_key(value: AccessKey) -> AccessKeyBody:
    role = None if value.role is None else access.word(value.role)
    return msgspec.convert(msgspec.structs.asdict(value) | {"role": role}, AccessKeyBody)


def new_access_key(value: AccessKey, secret: str) -> NewAccessKeyBody:
    return NewAccessKeyBody(*msgspec.structs.astuple(access_key(value)), secret=secret)


def _token_fields(
    value: Token,
) -> tuple[str, str, str | None, str, datetime, datetime | None, datetime | None, datetime | None]:
    return (
        value.id,
        value.user,
        value.label,
        access.word(value.role),
        value.created_at,
        value.last_used_at,
        value.expires_at,
        value.revoked_at,
    )
