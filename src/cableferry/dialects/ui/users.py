"""What an Owner does about accounts."""

from cableferry.core import access, accounts
from cableferry.core.access import Need
from cableferry.dialects.endpoint import Call, Endpoint
from cableferry.dialects.noting import noted
from cableferry.dialects.ui.desk import desk
from cableferry.engine import users
from cableferry.store.tx import Tx
from cableferry.wire.ui import PREFIX, bodies


def find(tx: Tx, call: Call) -> bodies.UserList:
    items = [bodies.user(each) for each in users.find(tx)]
    return bodies.UserList(items, len(items))


def hash_first(call: Call) -> str | None:
    """The new user's password, hashed before the transaction."""
    body: bodies.CreateUserBody = call.body
    accounts.check_name(body.name)
    access.role(body.role)
    return None if body.password is None else desk(call).passwords.hash(body.name, body.password)


def create(tx: Tx, call: Call) -> bodies.UserBody:
    body: bodies.CreateUserBody = call.body
    return bodies.user(users.create(tx, body.name, access.role(body.role), call.prepared))


def get(tx: Tx, call: Call) -> bodies.UserBody:
    return bodies.user(users.get(tx, call.path["name"]))


def set_role(tx: Tx, call: Call) -> bodies.UserBody:
    return bodies.user(users.set_role(tx, call.path["name"], access.role(call.body.role)))


def hash_new(call: Call) -> str:
    body: bodies.PasswordBody = call.body
    return desk(call).passwords.hash(call.path["name"], body.password)


def set_password(tx: Tx, call: Call) -> bodies.UserBody:
    return bodies.user(users.set_password(tx, call.path["name"], call.prepared))


def disable(tx: Tx, call: Call) -> bodies.UserBody:
    return bodies.user(users.disable(tx, call.path["name"]))


def enable(tx: Tx, call: Call) -> bodies.UserBody:
    return bodies.user(users.enable(tx, call.path["name"]))


def _name(call: Call) -> str:
    return f"{call.body.name}, {call.body.role}"


def _name_and_role(call: Call) -> str:
    return f"{call.path['name']}, {call.body.role}"


_ONE = f"{PREFIX}/users/{{name}}"

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", f"{PREFIX}/users", find, Need.OWN, "List users",
        answer=bodies.UserList, needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", f"{PREFIX}/users", noted("user created", create, _name), Need.OWN, "Create a user",
        answer=bodies.UserBody, mode="write", body=bodies.CreateUserBody, status=201, refusals=(409, 429),
        prepare=hash_first, needs_protocol_headers=False, keeps_secret=True,
    ),
    Endpoint(
        "GET", _ONE, get, Need.OWN, "Show a user",
        answer=bodies.UserBody, refusals=(404,), needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", f"{_ONE}/role", noted("role set", set_role, _name_and_role), Need.OWN, "Give a user another role",
        answer=bodies.UserBody, mode="write", body=bodies.RoleBody, refusals=(404, 409),
        needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", f"{_ONE}/password", noted("password set", set_password), Need.OWN,
        "Give a user a new password, signed out everywhere",
        answer=bodies.UserBody, mode="write", body=bodies.PasswordBody, refusals=(404, 429),
        prepare=hash_new, needs_protocol_headers=False, keeps_secret=True,
    ),
    Endpoint(
        "POST", f"{_ONE}/disable", noted("user disabled", disable), Need.OWN, "Let a user in no more",
        answer=bodies.UserBody, mode="write", refusals=(404, 409), needs_protocol_headers=False,
    ),
    Endpoint(
        "POST", f"{_ONE}/enable", noted("user enabled", enable), Need.OWN, "Let a user in again",
        answer=bodies.UserBody, mode="write", refusals=(404,), needs_protocol_headers=False,
    ),
)  # fmt: skip
