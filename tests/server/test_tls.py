"""What is told before the server listens, when TLS is not set up as it was meant."""

from pathlib import Path

import pytest

from cableferry.server import tls
from cableferry.server.settings import AuthSection, DatabaseSection, MtlsSection, ServerSection, Settings
from cableferry.server.vault import CannotStart
from tests.server.authority import Authority

CHAIN, OTHER, AUTHORITY, NOTHING = "authority-server.pem", "authority-other.pem", "authority.pem", "nothing.pem"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two certificates with their keys, the authority's without, and a file that holds neither."""
    authority = Authority(tmp_path)
    authority.issue("server")
    authority.issue("other")
    (tmp_path / NOTHING).write_text("nothing")
    return tmp_path


def settings(folder: Path, proxy_header: str | None = None, **names: str) -> Settings:
    section = ServerSection(port=0, **{f"tls_{field}": folder / name for field, name in names.items()})
    auth = AuthSection(mtls=MtlsSection(proxy_header=proxy_header))
    return Settings(server=section, database=DatabaseSection(data_dir=folder / "data"), auth=auth)


@pytest.mark.parametrize(
    "names",
    [{}, {"certificate": CHAIN}, {"certificate": CHAIN, "key": CHAIN}, {"certificate": CHAIN, "client_ca": AUTHORITY}],
)
def test_what_is_set_up_rightly_says_nothing(folder: Path, names: dict[str, str]) -> None:
    tls.check(settings(folder, **names))


def test_the_authorities_alone_are_for_certificates_that_a_proxy_passes_on(folder: Path) -> None:
    tls.check(settings(folder, "X-Client-Cert", client_ca=AUTHORITY))


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ({"certificate": "gone.pem"}, "gone.pem for TLS cannot be read: No such file"),
        ({"certificate": CHAIN, "client_ca": "gone.pem"}, "gone.pem for TLS cannot be read"),
        ({"certificate": AUTHORITY}, "server.tls_key"),
        ({"certificate": CHAIN, "key": OTHER}, "no certificate with its own key"),
        ({"certificate": CHAIN, "key": NOTHING}, "nothing.pem are no certificate"),
        ({"certificate": CHAIN, "client_ca": NOTHING}, "nothing.pem holds no certificate"),
        ({"key": CHAIN}, "server.tls_key would do nothing"),
        ({"client_ca": AUTHORITY}, "server.tls_client_ca would do nothing"),
    ],
)
def test_what_cannot_be_as_it_was_meant_is_told(folder: Path, names: dict[str, str], told: str) -> None:
    with pytest.raises(CannotStart, match=told):
        tls.check(settings(folder, **names))
