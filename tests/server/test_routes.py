"""A path leads to one endpoint; what is left of it may be one value with slashes."""

import pytest

from cableferry.core.access import Need
from cableferry.core.errors import Invalid
from cableferry.dialects.denials import UnknownRoute, WrongMethod
from cableferry.dialects.endpoint import Call, Dialect, Endpoint
from cableferry.dialects.problems import render
from cableferry.server.routes import Routes
from cableferry.store.tx import Tx

PATHS = [
    "/things",
    "/things/{id}",
    "/things/{id}/files",
    "/things/{id}/files/{path:path}",
    "/things/{id}/files/{path:path}",
    "/s3/{bucket}",
    "/s3/{bucket}/",
    "/s3/{bucket}/{key:path}",
]
METHODS = ["GET", "GET", "GET", "GET", "PUT", "GET", "GET", "PUT"]


def _run(tx: Tx, call: Call) -> None: ...


ENDPOINTS = tuple(
    Endpoint(method, path, _run, Need.NOTHING, "Something.", None) for method, path in zip(METHODS, PATHS, strict=True)
)
ROUTES = Routes([Dialect("test", "", ENDPOINTS, lambda headers: None, render)])


@pytest.mark.parametrize(
    ("path", "template", "params"),
    [
        ("/things", "/things", {}),
        ("/things/5", "/things/{id}", {"id": "5"}),
        ("/things/5/files", "/things/{id}/files", {"id": "5"}),
        ("/things/5/files/a", "/things/{id}/files/{path}", {"id": "5", "path": "a"}),
        ("/things/5/files/a/b//c/", "/things/{id}/files/{path}", {"id": "5", "path": "a/b//c/"}),
        ("/things/5/files/a%2Fb%20c", "/things/{id}/files/{path}", {"id": "5", "path": "a/b c"}),
        ("/things/5/files//", "/things/{id}/files/{path}", {"id": "5", "path": "/"}),
        ("/things/a%2Fb", "/things/{id}", {"id": "a/b"}),
        ("/s3/b", "/s3/{bucket}", {"bucket": "b"}),
        ("/s3/b/", "/s3/{bucket}/", {"bucket": "b"}),
    ],
)
def test_where_a_path_leads(path: str, template: str, params: dict[str, str]) -> None:
    route, found = ROUTES.find("GET", path)

    assert (route.template, found) == (template, params)


@pytest.mark.parametrize("path", ["/", "/thing", "/things/", "/things/5/other", "/things/5/files/", "/s3//x"])
def test_where_nothing_is(path: str) -> None:
    with pytest.raises(UnknownRoute):
        ROUTES.find("GET", path)


def test_a_tail_has_methods_of_its_own() -> None:
    with pytest.raises(WrongMethod) as refused:
        ROUTES.find("DELETE", "/things/5/files/a/b")

    assert refused.value.headers() == {"allow": "GET, HEAD, PUT"}


@pytest.mark.parametrize("path", ["/things/5/files/a%00b", "/things/5/files/%ff", "/things/%c3"])
def test_a_value_that_is_no_text_is_refused(path: str) -> None:
    with pytest.raises(Invalid):
        ROUTES.find("GET", path)


def test_an_endpoint_is_written_once() -> None:
    twice = Dialect("test", "", (ENDPOINTS[3], ENDPOINTS[3]), lambda headers: None, render)

    with pytest.raises(ValueError, match="written twice"):
        Routes([twice])
