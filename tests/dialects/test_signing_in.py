"""What happens between the comparison of a password and the session that follows it."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from cableferry.core.access import Anyone, Role
from cableferry.dialects.denials import Unauthorized
from cableferry.dialects.endpoint import Call
from cableferry.dialects.ui import sessions
from cableferry.dialects.ui.desk import Desk
from cableferry.engine import users
from cableferry.engine.sessions import Patience
from cableferry.server import configured
from cableferry.server.passwords import Passwords
from cableferry.server.settings import Settings
from cableferry.store.tx import Store
from cableferry.testing import stores
from cableferry.wire.ui import bodies

PASSWORD = "the ferry leaves at dawn"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with stores.opened(stores.sqlite_url(tmp_path)) as opened:
        yield opened


def test_a_password_changed_meanwhile_lets_nobody_in(store: Store) -> None:
    passwords = Passwords()
    hashed = passwords.hash("ann", PASSWORD)
    store.write(lambda tx: users.create(tx, "ann", Role.EDITOR, hashed))
    patience, rules = Patience(3, timedelta(minutes=1)), configured.rules(Settings())
    desk = Desk(store, rules, passwords, patience, timedelta(hours=1), lambda content, about: content)
    call = Call(Anyone(), body=bodies.LoginBody("ann", PASSWORD), service=desk)
    proven = sessions.prove(call)

    store.write(lambda tx: users.set_password(tx, "ann", passwords.hash("ann", "and comes back at dusk")))

    with pytest.raises(Unauthorized):
        store.write(lambda tx: sessions.login(tx, Call(Anyone(), body=call.body, service=desk, prepared=proven)))
