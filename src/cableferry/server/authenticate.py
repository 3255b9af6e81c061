"""Who calls: each way of proving it in its order, and whether any is asked for at all."""

import secrets
from datetime import timedelta
from ipaddress import ip_address

import msgspec
import structlog

from cableferry.core import signing
from cableferry.core.access import Anyone, Claimant
from cableferry.core.errors import Forbidden, Kind
from cableferry.dialects.denials import NoCredentials, Unauthorized
from cableferry.engine import credentials as engine
from cableferry.engine import tokens as api_tokens
from cableferry.server import vault
from cableferry.server.access_keys import AccessKeys
from cableferry.server.envelope import Admitted, Authenticator, Envelope
from cableferry.server.jwt import Tokens
from cableferry.server.keyring import Keyring
from cableferry.server.mtls import Certificates, Proxy
from cableferry.server.people import People
from cableferry.server.settings import AuthSection, Settings
from cableferry.server.signatures import Signatures
from cableferry.server.vault import CannotStart, Vault, WrongKey
from cableferry.store import credentials, nonces, users
from cableferry.store.tx import Store, Tx
from cableferry.wire.ui import cookies

log = structlog.get_logger()

KEY_FILE = "credentials.key"
_HOW = (
    "sign the request (Authorization: HMAC-SHA256), send an API token or a JWT"
    " (Authorization: Bearer), use a client certificate, or sign in"
)


class Schemes(msgspec.Struct, frozen=True):
    """The ways of proving who one is that this server was set up for."""

    signatures: Signatures
    people: People
    jwt: Tokens | None = None
    spends_jwt_ids: bool = False
    certificates: Certificates | None = None
    proxy: Proxy | None = None


class Open:
    """Lets everybody in, under the worker id they give."""

    async def admit(self, envelope: Envelope) -> Admitted:
        return Admitted(Anyone(envelope.worker))


class OpenUntilFirstUser:
    """Lets everybody in while there is no user; then it is a gate, without a restart and for good."""

    def __init__(self, store: Store, gate: Authenticator) -> None:
        self._store = store
        self._open = Open()
        self._gate = gate
        self.is_on = False

    async def admit(self, envelope: Envelope) -> Admitted:
        if not self.is_on and await self._store.aread(users.exist):
            self.is_on = True
            log.info("authentication is on")
        return await (self._gate if self.is_on else self._open).admit(envelope)


class Gate:
    """Lets in whoever proves who they are; what the request says first in this order decides alone."""

    def __init__(self, schemes: Schemes) -> None:
        self._schemes = schemes

    async def admit(self, envelope: Envelope) -> Admitted:
        authorization = envelope.header(b"authorization")
        proxied = self._proxied(envelope)
        if authorization is not None:
            return await self._by_authorization(envelope, authorization)
        if token := envelope.header(b"x-molgenis-token"):
            return await self._by_token(envelope, token)
        if worker := proxied or self._certified(envelope):
            return _as_worker(envelope, Claimant(worker, "certificate"))
        if text := cookies.read(envelope.header(b"cookie"), envelope.is_secure):
            return await self._schemes.people.by_cookie(envelope, text)
        if self._shows_certificate(envelope):
            raise Unauthorized("the client certificate stands for no worker here: name it in auth.mtls.workers")
        raise NoCredentials(f"no credentials: {_HOW}")

    async def _by_authorization(self, envelope: Envelope, authorization: str) -> Admitted:
        scheme, _, value = authorization.partition(" ")
        match scheme.lower():
            case "hmac-sha256":
                return await self._schemes.signatures.admit(envelope, value.strip())
            case "bearer" if value.startswith(api_tokens.PREFIX):
                return await self._schemes.people.by_token(envelope, value.strip())
            case "bearer" if self._schemes.jwt is not None:
                return self._by_jwt(envelope, self._schemes.jwt, value.strip())
            case _:
                raise Unauthorized(f"Authorization begins with a scheme that is unknown or not set up here: {_HOW}")

    async def _by_token(self, envelope: Envelope, token: str) -> Admitted:
        if token.startswith(api_tokens.PREFIX):
            return await self._schemes.people.by_token(envelope, token)
        return await self._schemes.signatures.admit_verbatim(envelope, token)

    def _by_jwt(self, envelope: Envelope, jwt: Tokens, text: str) -> Admitted:
        presented = jwt.present(text, envelope.now)
        admitted = _as_worker(envelope, presented.caller)
        if not self._schemes.spends_jwt_ids:
            return admitted

        def spend(tx: Tx) -> None:
            once, until = presented.once, presented.expires_at
            if once is None or not nonces.spend(tx, f"jwt {presented.caller.worker}", once, until):
                raise Unauthorized("a token counts once here and needs a jti of its own", Kind.REPLAYED)

        return Admitted(admitted.caller, spend)

    def _proxied(self, envelope: Envelope) -> str | None:
        """The worker in the proxy's header; the header alone, from anywhere else, is refused."""
        proxy, certificates = self._schemes.proxy, self._schemes.certificates
        value = envelope.headers.get(proxy.header) if proxy else None
        if proxy is None or certificates is None or not value:
            return None
        found = proxy.names(value.decode("latin-1"), envelope.peer, envelope.now)
        return certificates.worker_named(found)

    def _shows_certificate(self, envelope: Envelope) -> bool:
        proxy = self._schemes.proxy
        return envelope.certificate is not None or bool(proxy and envelope.headers.get(proxy.header))

    def _certified(self, envelope: Envelope) -> str | None:
        if envelope.certificate is None or self._schemes.certificates is None:
            return None
        return self._schemes.certificates.worker(envelope.certificate)


def _as_worker(envelope: Envelope, claimant: Claimant) -> Admitted:
    named = envelope.worker
    if named is not None and named != claimant.worker:
        raise Forbidden(f"{claimant.actor} may not speak for worker {named}", Kind.NOT_YOURS)
    return Admitted(claimant)


def _new_token() -> str:
    return secrets.token_urlsafe(24)


class Trust(msgspec.Struct, frozen=True):
    """What the server has to tell callers apart, those of its S3 gateway by their access keys, and to keep secrets.

    `first_token` is another at every start, and counts while there is no user.
    """

    authenticator: Authenticator
    gateway: Authenticator
    vault: Vault
    first_token: str = msgspec.field(default_factory=_new_token)

    @property
    def is_on(self) -> bool:
        match self.authenticator:
            case OpenUntilFirstUser(is_on=is_on):
                return is_on
            case other:
                return not isinstance(other, Open)


def establish(settings: Settings, store: Store) -> Trust:
    """Set up what the settings ask for; a server that others can reach never starts open."""
    auth = settings.auth
    sealing = open_vault(settings)
    secret = _shared_secret(auth)
    gate, keys = Gate(_schemes(settings, store, sealing, secret)), AccessKeys(store, sealing)
    if _is_on(settings, store, secret):
        store.read(lambda tx: _check_vault(tx, sealing))
        return Trust(gate, keys, sealing)
    if auth.off:
        return Trust(Open(), Open(), sealing)
    return Trust(OpenUntilFirstUser(store, gate), OpenUntilFirstUser(store, keys), sealing)


def open_vault(settings: Settings) -> Vault:
    """The operator's key, or the one of our own that was made on the first start."""
    auth = settings.auth
    if auth.credentials_key is not None:
        return Vault(auth.credentials_key.reveal())
    if auth.credentials_key_file is not None:
        return Vault(vault.key_from(auth.credentials_key_file))
    return Vault(vault.made_key(settings.database.data_dir / KEY_FILE))


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_on(settings: Settings, store: Store, secret: str | None) -> bool:
    auth, host = settings.auth, settings.server.host
    is_set_up = _is_set_up(auth, secret) or store.read(lambda tx: users.exist(tx) or credentials.exist(tx))
    if is_set_up and not auth.off:
        return True
    if not is_loopback(host):
        raise CannotStart(
            f"listening on {host} needs authentication: make a user with `cableferry users create`, or set"
            " auth.shared_secret, auth.jwt or auth.mtls; auth.off is for a loopback address only"
        )
    log.warning("authentication is off", host=host, asked_for=auth.off)
    return False


def _is_set_up(auth: AuthSection, secret: str | None) -> bool:
    keys = (auth.credentials_key, auth.credentials_key_file, auth.jwt.keys_file)
    return secret is not None or bool(auth.mtls.workers) or any(key is not None for key in keys)


def _shared_secret(auth: AuthSection) -> str | None:
    if auth.shared_secret is not None:
        secret = auth.shared_secret.reveal()
    elif auth.shared_secret_file is not None:
        secret = vault.secret_from(auth.shared_secret_file, "shared secret")
    else:
        return None
    if len(secret) < signing.SECRET_LENGTH:
        raise CannotStart(f"the shared secret has {len(secret)} characters, it needs at least {signing.SECRET_LENGTH}")
    return secret


def _schemes(settings: Settings, store: Store, sealing: Vault, secret: str | None) -> Schemes:
    jwt, mtls = settings.auth.jwt, settings.auth.mtls
    authorities = settings.server.tls_client_ca
    return Schemes(
        Signatures(Keyring(store, sealing), secret),
        People(store, timedelta(hours=settings.auth.session_hours)),
        jwt=Tokens(jwt, jwt.keys_file) if jwt.keys_file else None,
        spends_jwt_ids=jwt.spend_ids,
        certificates=Certificates(mtls.workers) if mtls.workers else None,
        proxy=Proxy(mtls.proxy_header, mtls.proxy_addresses, authorities) if mtls.proxy_header else None,
    )


def _check_vault(tx: Tx, sealing: Vault) -> None:
    """Say at the start, not at the first request, that the key is not the one."""
    newest = credentials.newest_usable(tx, tx.now)
    if newest is None:
        return
    try:
        sealing.open(newest.box, engine.about(newest.id, newest.worker))
    except WrongKey as error:
        log.error("credentials key does not fit", reason=error.detail)
