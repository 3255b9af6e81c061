"""Bodies in the form aws-chunked, by Amazon's published examples, by botocore, and by what must be refused."""

import base64
import io
import zlib
from collections.abc import Iterable

import pytest
from botocore.httpchecksum import AwsChunkedWrapper, Crc32Checksum
from hypothesis import given
from hypothesis import strategies as st

from cableferry.core import aws_chunks, sigv4
from cableferry.core.aws_chunks import Chunks, Form, Signer
from cableferry.core.errors import Forbidden, Invalid, Kind, Refusal
from cableferry.core.sigv4 import Proof, Scope

SCOPE = Scope("20130524", "us-east-1")
KEY = sigv4.signing_key("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", SCOPE)
CONTENT = b"a" * 66560
CRC32C = "sOO8/Q=="


class Crc32:
    """The one of `zlib`, as a running checksum."""

    def __init__(self) -> None:
        self.value = 0

    def update(self, data: bytes, /) -> None:
        self.value = zlib.crc32(data, self.value)

    def digest(self) -> bytes:
        return self.value.to_bytes(4, "big")


class Known:
    """A checksum whose value the published example tells."""

    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes:
        return base64.b64decode(CRC32C)


def _signer(seed: str) -> Signer:
    return Signer(KEY, Proof("AKIAIOSFODNN7EXAMPLE", SCOPE, "20130524T000000Z", ("host",), seed))


def _chunk(content: bytes, signature: str | None = None) -> bytes:
    extension = f";chunk-signature={signature}" if signature else ""
    return f"{len(content):x}{extension}\r\n".encode() + (content + b"\r\n" if content else b"")


SEED = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
SIGNATURES = [
    "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
    "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
    "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
]
SIGNED = (
    _chunk(CONTENT[:65536], SIGNATURES[0])
    + _chunk(CONTENT[65536:], SIGNATURES[1])
    + _chunk(b"", SIGNATURES[2])
    + b"\r\n"
)
SIGNED_FORM = Form(66560, is_signed=True)

TRAILER_SEED = "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e"
TRAILER_SIGNATURES = [
    "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
    "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
    "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
]
TRAILER = (
    f"x-amz-checksum-crc32c:{CRC32C}\r\n"
    "x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n"
).encode()
WITH_TRAILER = (
    _chunk(CONTENT[:65536], TRAILER_SIGNATURES[0])
    + _chunk(CONTENT[65536:], TRAILER_SIGNATURES[1])
    + _chunk(b"", TRAILER_SIGNATURES[2])
    + TRAILER
)
TRAILER_FORM = Form(66560, is_signed=True, promised=("x-amz-checksum-crc32c",))


def _signed() -> Chunks:
    return Chunks(SIGNED_FORM, _signer(SEED))


def _with_trailer() -> Chunks:
    return Chunks(TRAILER_FORM, _signer(TRAILER_SEED), {"x-amz-checksum-crc32c": Known()})


def _unsigned(size: int) -> Chunks:
    return Chunks(Form(size, promised=("x-amz-checksum-crc32",)), checksums={"x-amz-checksum-crc32": Crc32()})


def _read(chunks: Chunks, pieces: Iterable[bytes]) -> bytes:
    content = b"".join([chunks.feed(piece) for piece in pieces])
    chunks.finish()
    return content


def test_the_published_chunks_are_right() -> None:
    assert CONTENT == _read(_signed(), [SIGNED])


def test_the_published_chunks_with_a_trailer_are_right() -> None:
    assert CONTENT == _read(_with_trailer(), [WITH_TRAILER])


def test_a_line_end_too_many_in_the_trailer_as_the_published_text_has_it_is_no_matter() -> None:
    assert CONTENT == _read(_with_trailer(), [WITH_TRAILER.replace(b"==\r\n", b"==\n\r\n")])


def test_an_empty_line_before_the_trailer_as_some_clients_send_it_is_no_matter() -> None:
    assert CONTENT == _read(_with_trailer(), [WITH_TRAILER.replace(b"x-amz-checksum", b"\r\nx-amz-checksum")])


def test_whose_signature_is_not_asked_for_may_sign_all_the_same() -> None:
    assert CONTENT == _read(Chunks(SIGNED_FORM), [SIGNED])


@given(cuts=st.lists(st.integers(0, len(WITH_TRAILER)), max_size=12).map(sorted))
def test_it_is_the_same_wherever_the_network_cuts_it(cuts: list[int]) -> None:
    pieces = [WITH_TRAILER[a:b] for a, b in zip([0, *cuts], [*cuts, len(WITH_TRAILER)], strict=True)]

    assert CONTENT == _read(_with_trailer(), pieces)


def test_it_may_come_byte_by_byte() -> None:
    body = _chunk(b"hello") + _chunk(b"") + f"x-amz-checksum-crc32:{_crc32(b'hello')}\r\n\r\n".encode()

    assert b"hello" == _read(_unsigned(5), [bytes([byte]) for byte in body])


@given(content=st.binary(max_size=40_000), chunk_size=st.integers(8192, 20_000))
def test_what_botocore_sends_is_right(content: bytes, chunk_size: int) -> None:
    wrapper = AwsChunkedWrapper(
        io.BytesIO(content),
        checksum_cls=Crc32Checksum,
        checksum_name="x-amz-checksum-crc32",
        chunk_size=chunk_size,
    )

    assert content == _read(_unsigned(len(content)), [wrapper.read()])


def _crc32(content: bytes) -> str:
    return base64.b64encode(zlib.crc32(content).to_bytes(4, "big")).decode()


def test_a_changed_byte_anywhere_in_the_signed_form_is_refused() -> None:
    content_at = [0, 40000, 65535]
    for place in [SIGNED.index(b"aaaa") + at for at in content_at] + [SIGNED.rindex(b"aaaa"), 30, len(SIGNED) - 10]:
        changed = bytes([SIGNED[place] ^ 1])
        with pytest.raises(Refusal):
            _read(_signed(), [SIGNED[:place] + changed + SIGNED[place + 1 :]])


def test_chunks_in_another_order_are_refused() -> None:
    second_first = _chunk(CONTENT[:65536], SIGNATURES[1]) + _chunk(CONTENT[65536:], SIGNATURES[0])
    with pytest.raises(Forbidden) as refused:
        _signed().feed(second_first)

    assert Kind.BAD_SIGNATURE is refused.value.kind


def test_a_trailer_with_another_signature_is_refused() -> None:
    with pytest.raises(Forbidden) as refused:
        _with_trailer().feed(WITH_TRAILER.replace(b"d81f82", b"d81f83"))

    assert Kind.BAD_SIGNATURE is refused.value.kind


def test_a_checksum_of_something_else_is_refused() -> None:
    chunks = Chunks(TRAILER_FORM, _signer(TRAILER_SEED), {"x-amz-checksum-crc32c": Crc32()})
    with pytest.raises(Invalid) as refused:
        chunks.feed(WITH_TRAILER)

    assert Kind.BAD_DIGEST is refused.value.kind


@pytest.mark.parametrize("told", ["", "?", "AAAA", "AAAAAAAA=", "é"])
def test_a_checksum_that_is_none_is_refused(told: str) -> None:
    with pytest.raises(Invalid) as refused:
        aws_chunks.check_sum("x-amz-checksum-crc32", Crc32(), told)

    assert Kind.BAD_HEADER is refused.value.kind


@pytest.mark.parametrize("stop", [0, 10, 1000, len(SIGNED) - 100, len(SIGNED) - 2, len(SIGNED) - 1])
def test_a_body_that_ends_too_early_is_refused(stop: int) -> None:
    with pytest.raises(Invalid) as refused:
        _read(_signed(), [SIGNED[:stop]])

    assert Kind.INCOMPLETE is refused.value.kind


@pytest.mark.parametrize("size", [66559, 66561])
def test_a_body_of_another_size_than_it_says_is_refused(size: int) -> None:
    with pytest.raises(Invalid) as refused:
        _read(Chunks(Form(size, is_signed=True), _signer(SEED)), [SIGNED])

    assert Kind.INCOMPLETE is refused.value.kind


END = f"x-amz-checksum-crc32:{_crc32(b'hello')}\r\n\r\n".encode()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"5\r\nhello!\r\n0\r\n" + END, id="a chunk longer than it says"),
        pytest.param(b"5\r\nhell\r\n0\r\n" + END, id="a chunk shorter than it says"),
        pytest.param(b"5\nhello\r\n0\r\n" + END, id="a line without CR"),
        pytest.param(b"-5\r\nhello\r\n0\r\n" + END, id="a negative size"),
        pytest.param(b"0x5\r\nhello\r\n0\r\n" + END, id="a size with a prefix"),
        pytest.param(b"\r\nhello\r\n0\r\n" + END, id="no size"),
        pytest.param(b"5;name=value\r\nhello\r\n0\r\n" + END, id="another extension"),
        pytest.param(b"5;chunk-signature=" + b"0" * 64 + b"\r\nhello\r\n", id="a signature where none is announced"),
        pytest.param(b"2\r\nhe\r\n3\r\nllo\r\n0\r\n" + END, id="small chunks"),
        pytest.param(b"5\r\nhello\r\n0\r\n" + END + b"x", id="more behind the end"),
        pytest.param(b"5\r\nhello\r\n0\r\nx-amz-trailer-signature:0\r\n\r\n", id="no trailer but a signature"),
        pytest.param(b"5\r\nhello\r\n0\r\n" + END[:-2] + END, id="a trailer twice"),
        pytest.param(b"5\r\nhello\r\n0\r\nx-amz-meta-a:b\r\n" + END, id="a trailer that was not announced"),
        pytest.param(b"5\r\nhello\r\n0\r\nno colon\r\n" + END, id="a trailer without a colon"),
        pytest.param(b"5\r\nhello\r\n0\r\n" + b"a:b\r\n" * 9, id="a long trailer"),
        pytest.param(b"5\r\nhello\r\n0\r\n" + b"a:" + b"b" * 1100, id="a long line"),
        pytest.param(b"f" * 1100, id="a long head"),
    ],
)
def test_a_body_in_another_form_is_refused(body: bytes) -> None:
    with pytest.raises(Invalid) as refused:
        _read(_unsigned(5), [body])

    assert Kind.MALFORMED is refused.value.kind


def test_an_unsigned_chunk_where_signatures_are_announced_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        Chunks(SIGNED_FORM).feed(_chunk(CONTENT))

    assert Kind.MALFORMED is refused.value.kind


@given(body=st.binary(max_size=300))
def test_whatever_else_comes_is_refused(body: bytes) -> None:
    with pytest.raises(Refusal):
        _read(_unsigned(5), [body])


def test_a_line_without_an_end_is_not_collected() -> None:
    chunks = _unsigned(5)
    for _ in range(aws_chunks.LONGEST_LINE):
        chunks.feed(b"0")

    with pytest.raises(Invalid):
        chunks.feed(b"0")


def test_a_chunk_larger_than_the_content_is_refused_before_it_comes() -> None:
    with pytest.raises(Invalid) as refused:
        _unsigned(5).feed(b"fffffffffffffff\r\n")

    assert Kind.INCOMPLETE is refused.value.kind
