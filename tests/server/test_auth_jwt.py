"""JSON Web Tokens of workers: the keys that sign them, the rules they keep, and the tricks that fail."""

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from joserfc import jwk, jws, jwt
from joserfc.jws import JWSRegistry

from cableferry.dialects.denials import Unauthorized
from cableferry.server.jwt import Tokens
from cableferry.server.settings import AuthSection, JwtSection
from cableferry.server.vault import CannotStart
from tests.server.serving import Server, bearer, issued, serving, settings, signed

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SECONDS = int(NOW.timestamp())
CLAIMS = {"sub": "w1", "iat": SECONDS, "exp": SECONDS + 300}
SECTION = JwtSection(algorithms=["EdDSA", "RS256", "HS256"])
ED = jwk.OKPKey.generate_key("Ed25519", {"kid": "ed"})
RSA = jwk.RSAKey.generate_key(2048, {"kid": "rsa"})
SECRET = jwk.OctKey.generate_key(256, {"kid": "oct"})
KEYS = {"Ed25519": ED, "RS256": RSA, "HS256": SECRET}


def encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@pytest.fixture
def keys_file(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    public = [ED.as_dict(private=False), RSA.as_dict(private=False), SECRET.as_dict(private=True)]
    path.write_text(json.dumps({"keys": public}))
    return path


@pytest.fixture
def tokens(keys_file: Path) -> Tokens:
    return Tokens(SECTION, keys_file)


def made(algorithm: str = "Ed25519", key: jwk.Key | None = None, header: Any = None, **claims: Any) -> str:
    key = key or KEYS[algorithm]
    said = {name: value for name, value in (CLAIMS | claims).items() if value is not None}
    head = {"alg": algorithm, "kid": key.kid} | (header or {})
    return jws.serialize_compact(head, json.dumps(said).encode(), key, [algorithm])


def refusal(tokens: Tokens, text: str) -> str:
    with pytest.raises(Unauthorized) as refused:
        tokens.present(text, NOW)
    return refused.value.detail


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_token_of_each_kind_of_key_speaks_for_its_subject(tokens: Tokens, algorithm: str) -> None:
    assert tokens.present(made(algorithm), NOW).caller.worker == "w1"


def test_the_older_name_of_ed25519_is_as_good(tokens: Tokens) -> None:
    text = made().split(".")
    head = encode(b'{"alg":"EdDSA","kid":"ed"}')
    signature = JWSRegistry.algorithms["Ed25519"].sign(f"{head}.{text[1]}".encode(), ED)

    assert tokens.present(f"{head}.{text[1]}.{encode(signature)}", NOW).caller.worker == "w1"


def test_the_public_key_does_not_serve_as_a_shared_secret(tokens: Tokens) -> None:
    pem = RSA.as_pem(private=False)
    head = encode(b'{"alg": "HS256", "kid": "rsa"}')
    body = f"{head}.{made().split('.')[1]}"
    forged = f"{body}.{encode(hmac.digest(pem, body.encode(), hashlib.sha256))}"

    assert "kid" in refusal(tokens, forged)


@pytest.mark.parametrize("name", ["none", "None", "NONE", "HS512", "ES256", ""])
def test_no_other_algorithm_is_let_in(tokens: Tokens, name: str) -> None:
    body = made().split(".")[1]

    assert refusal(tokens, f"{encode(json.dumps({'alg': name}).encode())}.{body}.")


def test_an_algorithm_that_was_not_configured_is_refused(keys_file: Path) -> None:
    tokens = Tokens(JwtSection(algorithms=["EdDSA"]), keys_file)

    assert refusal(tokens, made("HS256"))
    assert tokens.present(made(), NOW)


def test_a_stranger_key_with_a_known_kid_is_refused(tokens: Tokens) -> None:
    assert refusal(tokens, made(key=jwk.OKPKey.generate_key("Ed25519", {"kid": "ed"})))


def test_an_unknown_kid_is_refused(tokens: Tokens) -> None:
    assert "kid" in refusal(tokens, made(header={"kid": "other"}))


def test_without_a_kid_the_only_key_of_its_kind_is_taken(tokens: Tokens) -> None:
    assert tokens.present(jwt.encode({"alg": "Ed25519"}, CLAIMS, ED, ["Ed25519"]), NOW)


@pytest.mark.parametrize(
    ("claims", "word"),
    [
        pytest.param({"exp": None}, "exp", id="no end"),
        pytest.param({"exp": SECONDS - 61}, "expired", id="ended"),
        pytest.param({"exp": "tomorrow"}, "exp", id="an end in words"),
        pytest.param({"exp": float("nan")}, "exp", id="an end that is no number"),
        pytest.param({"exp": float("inf")}, "exp", id="an endless end"),
        pytest.param({"exp": 10**400}, "exp", id="an end beyond all numbers"),
        pytest.param({"exp": SECONDS + 3601}, "longer", id="a life too long"),
        pytest.param({"iat": None, "exp": SECONDS + 3601}, "longer", id="a life too long from now"),
        pytest.param({"iat": SECONDS - 3500}, "longer", id="a life too long from its issue"),
        pytest.param({"iat": SECONDS + 120}, "future", id="issued in the future"),
        pytest.param({"nbf": SECONDS + 120}, "not yet", id="not yet"),
        pytest.param({"sub": None}, "sub", id="no subject"),
        pytest.param({"sub": ""}, "sub", id="an empty subject"),
        pytest.param({"sub": ["w1"]}, "sub", id="several subjects"),
        pytest.param({"sub": "w\ud8001"}, "sub", id="half a character"),
        pytest.param({"jti": "a b"}, "jti", id="an id with a space"),
        pytest.param({"jti": 7}, "jti", id="an id that is no text"),
    ],
)
def test_a_token_that_breaks_a_rule_is_refused(tokens: Tokens, claims: dict[str, Any], word: str) -> None:
    assert word in refusal(tokens, made(**claims))


@pytest.mark.parametrize("text", ["", "x", "x.y", "x.y.z", "....", "ä.ö.ü", "e30.e30.e30", "A" * 5000])
def test_what_is_no_token_is_refused(tokens: Tokens, text: str) -> None:
    assert refusal(tokens, text)


DEEP = b"[" * 20_000 + b"]" * 20_000


def test_a_token_too_deep_to_be_read_is_refused(tokens: Tokens) -> None:
    head = encode(json.dumps({"alg": "HS256", "kid": "oct"}).encode())
    signature = hmac.new(SECRET.raw_value, f"{head}.{encode(DEEP)}".encode(), hashlib.sha256).digest()

    assert "deep" in refusal(tokens, f"{head}.{encode(DEEP)}.{encode(signature)}")


def test_a_refused_token_is_told_why_in_words(tokens: Tokens) -> None:
    assert refusal(tokens, made()[:-8] + "AAAAAAAA").endswith("bad signature")


def test_issuer_and_audience_are_demanded_when_configured(keys_file: Path) -> None:
    tokens = Tokens(JwtSection(issuer="site", audience="ferry"), keys_file)

    assert tokens.present(made(iss="site", aud=["ferry", "x"]), NOW)
    for claims in ({}, {"iss": "site"}, {"iss": "other", "aud": "ferry"}, {"iss": "site", "aud": "other"}):
        assert refusal(tokens, made(**claims))


def test_another_claim_may_name_the_worker(keys_file: Path) -> None:
    tokens = Tokens(JwtSection(subject_claim="worker"), keys_file)

    assert tokens.present(made(worker="w9"), NOW).caller.worker == "w9"
    assert refusal(tokens, made())


def test_a_changed_keys_file_counts_and_a_broken_one_does_not(keys_file: Path, tokens: Tokens) -> None:
    new = jwk.OKPKey.generate_key("Ed25519", {"kid": "new"})
    assert refusal(tokens, made(key=new))

    keys_file.write_text(json.dumps({"keys": [new.as_dict(private=False)]}))
    assert tokens.present(made(key=new), NOW)

    keys_file.write_text("broken")
    assert tokens.present(made(key=new), NOW)
    assert refusal(tokens, made())


@pytest.mark.parametrize("algorithm", ["Ed25519", "RS256"])
def test_a_pem_file_will_do(tmp_path: Path, algorithm: str) -> None:
    path, key = tmp_path / "key.pem", KEYS[algorithm]
    path.write_bytes(key.as_pem(private=False))
    text = jwt.encode({"alg": algorithm}, CLAIMS, key, [algorithm])

    assert Tokens(SECTION, path).present(text, NOW).caller.worker == "w1"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '{"keys": []}',
        "[1]",
        json.dumps({"kty": "oct", "k": encode(b"sixteen bytes...")}),
        pytest.param(json.dumps(jwk.ECKey.generate_key("P-256").as_dict(private=False)), id="another-curve"),
    ],
)
def test_a_keys_file_without_a_good_key_stops_the_start(tmp_path: Path, content: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(content)

    with pytest.raises(CannotStart, match=r"keys\.json"):
        Tokens(SECTION, path)


def test_a_missing_keys_file_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="missing"):
        Tokens(SECTION, tmp_path / "missing")


@pytest.fixture(params=[False, True])
def server(request: pytest.FixtureRequest, tmp_path: Path, keys_file: Path) -> Iterator[Server]:
    section = msgspec.structs.replace(SECTION, keys_file=keys_file, spend_ids=request.param)
    with serving(settings(tmp_path, AuthSection(jwt=section))) as running:
        yield running


def test_a_worker_with_a_token_works(server: Server) -> None:
    now = int(datetime.now(UTC).timestamp())
    body = b'{"worker_id": "w1", "hostname": "h", "capabilities": [{"processor": "embed", "profile": "gpu"}]}'
    texts = [made(iat=now, exp=now + 60, jti=f"{n}-{os.getpid()}") for n in range(4)]

    registered = server.call("POST", "/api/hpc/workers/register", body, bearer(texts[0]))
    other = server.call("POST", "/api/hpc/workers/w2/heartbeat", headers=bearer(texts[1]))
    named = server.call("GET", "/api/hpc/jobs", headers=bearer(texts[2]) | {"X-Worker-Id": "w2"})
    first = server.call("GET", "/api/hpc/jobs", headers=bearer(texts[3]))
    again = server.call("GET", "/api/hpc/jobs", headers=bearer(texts[3]))

    counts_once = server.settings.auth.jwt.spend_ids
    assert (registered.status, other.status, named.status, first.status) == (200, 403, 403, 200)
    assert again.status == (401 if counts_once else 200)


def test_a_worker_may_have_both_a_token_and_a_secret(server: Server) -> None:
    secret = issued(server)

    assert server.call("GET", "/api/hpc/jobs", headers=signed(secret, "GET", "/api/hpc/jobs")).status == 200
