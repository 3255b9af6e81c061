"""A form is read the same in whatever pieces it comes, and what is no form is refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core.errors import Invalid
from cableferry.server import multipart
from cableferry.server.multipart import Form

TYPE = b"multipart/form-data; boundary=edge"
FILE = 'Content-Disposition: form-data; name="file"; filename="a.bin"\r\nContent-Type: text/csv'


def _field(name: str) -> str:
    return f'Content-Disposition: form-data; name="{name}"'


def _body(*parts: tuple[str, bytes], boundary: str = "edge") -> bytes:
    lines = [f"--{boundary}\r\n{head}\r\n\r\n".encode() + content + b"\r\n" for head, content in parts]
    return b"".join([*lines, f"--{boundary}--\r\n".encode()])


def _read(body: bytes, size: int = 1000, content_type: bytes = TYPE) -> tuple[bytes, Form]:
    form = Form(content_type)
    given = [part for at in range(0, len(body), size) for part in form.feed(body[at : at + size])]
    form.finish()
    return b"".join(given), form


NEARLY = st.lists(st.sampled_from([b"\r", b"\n", b"--", b"edge", b"-", b" "])).map(b"".join)


@given(
    content=st.binary(max_size=200) | NEARLY,
    before=st.text(max_size=30),
    after=st.text(max_size=30),
    size=st.integers(1, 100),
)
def test_a_form_may_come_in_any_pieces(content: bytes, before: str, after: str, size: int) -> None:
    fields = (_field("before"), before.encode()), (FILE, content), (_field("after"), after.encode())
    if any(re.search(rb"(^|\r\n)--edge", part) for _, part in fields):
        return

    found, form = _read(_body(*fields), size)

    assert found == content
    assert form.fields == {"before": before, "after": after}
    assert (form.file_name, form.content_type) == ("a.bin", "text/csv")


def test_a_piece_that_cannot_be_a_boundary_is_handed_on_at_once() -> None:
    form = Form(TYPE)
    form.feed(_body((FILE, b"")).partition(b"\r\n--edge--")[0])

    assert len(b"".join(form.feed(b"x" * 10_000))) > 9_900


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('form-data; name="file"; filename="a b.bin"', "a b.bin"),
        ("form-data; name=file; filename=plain", "plain"),
        ('form-data; filename="a\\"b;c.bin"; name="file"', 'a"b;c.bin'),
        ('form-data; name="file"; filename="C:\\dir\\a.bin"', "C:\\dir\\a.bin"),
        ('form-data; name="file"; filename="käse"', "käse"),
        ('form-data; name="file"; filename="x"; filename*=UTF-8\'\'k%C3%A4se%20%25', "käse %"),
        ('Form-Data ; NAME="file" ; FileName=""', ""),
    ],
)
def test_the_name_of_a_file(disposition: str, name: str) -> None:
    _, form = _read(_body((f"content-DISPOSITION: {disposition}", b"x")))

    assert form.file_name == name


def test_what_stands_around_the_parts_is_no_part() -> None:
    body = b"a preamble\r\n" + _body((FILE, b"x")).replace(b"--edge\r\n", b"--edge \t\r\n") + b"an epilogue"

    assert _read(body)[0] == b"x"


def test_a_quoted_boundary_may_hold_blanks_and_signs() -> None:
    body = _body((FILE, b"x"), boundary="a b'(c)=?")

    assert _read(body, content_type=b'multipart/form-data; charset=utf-8; boundary="a b\'(c)=?"')[0] == b"x"


@pytest.mark.parametrize(
    "content_type",
    [None, b"multipart/form-data", b"multipart/form-data; boundary=", b'multipart/form-data; boundary="a b "',
     b"multipart/form-data; boundary=" + b"x" * 71, b"multipart/form-data; boundary=\xe4"],
)  # fmt: skip
def test_a_form_without_a_proper_boundary_is_refused(content_type: bytes | None) -> None:
    with pytest.raises(Invalid, match="boundary"):
        Form(content_type)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no form",
        _body((FILE, b"x"))[:-6],
        _body((_field("name"), b"x")),
        _body((FILE, b"x"), (FILE, b"y")),
        _body((_field("name"), b"x"), (_field("name"), b"y"), (FILE, b"x")),
        _body((FILE, b"x"), *((_field(f"f{number}"), b"") for number in range(51))),
        _body((_field("name"), b"\xff"), (FILE, b"x")),
        _body((_field("name"), b"x" * 70_000), (FILE, b"x")),
        _body((FILE + "\r\nX-Filler: " + "y" * 20_000, b"x")),
        _body(("Content-Disposition: attachment; name=file; filename=a", b"x")),
        _body(("Content-Disposition: form-data; filename=a", b"x")),
        _body(("Content-Disposition: form-data; name=file; filename*=latin1''a", b"x")),
        _body(("Content-Disposition: form-data; name=file; filename*=UTF-8''%ff", b"x")),
        _body(("", b"x"), (FILE, b"x")),
        _body((FILE, b"x")).replace(b"--edge\r\n", b"--edge!\r\n"),
        b"--edge" + b" " * 30_000,
    ],
    ids=range(17),
)
@pytest.mark.parametrize("size", [7, 100_000])
def test_what_is_no_form_with_one_file_is_refused(body: bytes, size: int) -> None:
    with pytest.raises(Invalid, match="the multipart form cannot be read"):
        _read(body, size)


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [(b"Multipart/Form-Data; boundary=x", True), (b"multipart/mixed", False), (b"", False), (None, False)],
)
def test_a_form_is_known_by_its_type(content_type: bytes | None, expected: bool) -> None:
    assert multipart.is_form(content_type) is expected
