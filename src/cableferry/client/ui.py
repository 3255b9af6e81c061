"""Accounts, sessions and tokens of a server as a Python client."""

from cableferry.client import verbs
from cableferry.client.caller import Caller
from cableferry.client.http import Connection
from cableferry.client.schemes import Scheme
from cableferry.client.verbs import Verbs
from cableferry.wire.ui import PREFIX, bodies, workers


def connect(url: str, scheme: Scheme) -> "Ui":
    """A client of the server at an address."""
    return Ui(Caller(Connection(url), scheme))


class Ui:
    """One server, as a user with a token sees it."""

    def __init__(self, caller: Caller) -> None:
        self._ask = Verbs(caller, PREFIX)

    def close(self) -> None:
        self._ask.close()

    def me(self) -> bodies.MeBody:
        return verbs.read(self._ask.get("/me"), bodies.MeBody)

    # users, for Owners

    def users(self) -> list[bodies.UserBody]:
        return verbs.read(self._ask.get("/users"), bodies.UserList).items

    def user(self, name: str) -> bodies.UserBody:
        return verbs.read(self._ask.get(f"/users/{verbs.part(name)}"), bodies.UserBody)

    def create_user(self, body: bodies.CreateUserBody) -> bodies.UserBody:
        return verbs.read(self._ask.post("/users", body), bodies.UserBody)

    def set_role(self, name: str, role: str) -> bodies.UserBody:
        return verbs.read(self._ask.post(f"/users/{verbs.part(name)}/role", bodies.RoleBody(role)), bodies.UserBody)

    def set_password(self, name: str, password: str) -> bodies.UserBody:
        body = bodies.PasswordBody(password)
        return verbs.read(self._ask.post(f"/users/{verbs.part(name)}/password", body), bodies.UserBody)

    def disable(self, name: str) -> bodies.UserBody:
        return verbs.read(self._ask.post(f"/users/{verbs.part(name)}/disable"), bodies.UserBody)

    def enable(self, name: str) -> bodies.UserBody:
        return verbs.read(self._ask.post(f"/users/{verbs.part(name)}/enable"), bodies.UserBody)

    # tokens, one's own or as an Owner anybody's

    def tokens(self, user: str | None = None) -> list[bodies.TokenBody]:
        return verbs.read(self._ask.get("/tokens" + verbs.query({"user": user})), bodies.TokenList).items

    def create_token(self, body: bodies.CreateTokenBody) -> bodies.NewTokenBody:
        return verbs.read(self._ask.post("/tokens", body), bodies.NewTokenBody)

    def revoke_token(self, id: str) -> None:
        self._ask.delete(f"/tokens/{verbs.part(id)}")

    # access keys, one's own, a worker's as a Manager, or as an Owner anybody's

    def access_keys(self, user: str | None = None, worker: str | None = None) -> list[bodies.AccessKeyBody]:
        query = verbs.query({"user": user, "worker": worker})
        return verbs.read(self._ask.get(f"/access-keys{query}"), bodies.AccessKeyList).items

    def issue_access_key(self, body: bodies.IssueAccessKeyBody) -> bodies.NewAccessKeyBody:
        return verbs.read(self._ask.post("/access-keys", body), bodies.NewAccessKeyBody)

    def revoke_access_key(self, id: str) -> None:
        self._ask.delete(f"/access-keys/{verbs.part(id)}")

    # workers, as a Manager

    def drain(self, worker_id: str) -> workers.WorkerItem:
        return verbs.read(self._ask.post(f"/workers/{verbs.part(worker_id)}/drain"), workers.WorkerItem)

    def resume(self, worker_id: str) -> workers.WorkerItem:
        return verbs.read(self._ask.post(f"/workers/{verbs.part(worker_id)}/resume"), workers.WorkerItem)

    # browsers

    def sessions(self) -> list[bodies.SessionBody]:
        return verbs.read(self._ask.get("/sessions"), bodies.SessionList).items

    def end_session(self, id: str) -> None:
        self._ask.delete(f"/sessions/{verbs.part(id)}")

    def sign_out_everywhere(self) -> bodies.SignedOut:
        return verbs.read(self._ask.post("/sessions/sign-out"), bodies.SignedOut)
