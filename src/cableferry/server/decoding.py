"""From the bytes of a body and a query to typed values; every way to get them wrong is the client's mistake."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from cableferry.core.errors import Invalid, Kind
from cableferry.dialects.denials import Undecodable
from cableferry.dialects.endpoint import Endpoint, Headers
from cableferry.wire import texts

MOST_QUERY_FIELDS = 50
_JSON = b"application/json"
_BODY = ("body",)
_MISSING = re.compile(r"Object missing required field `([^`]*)`")

# what msgspec says for programmers
_PLAINER = {f"Expected `str` matching regex {pattern!r}": said for pattern, said in texts.SAID.items()}
_PLAINER["Input data was truncated"] = "it ends too early, or one of its \\u escapes is half of a pair"


class Decoding(msgspec.Struct, frozen=True, eq=False):
    """How one endpoint reads its body and its query."""

    body: msgspec.json.Decoder[msgspec.Struct] | None
    empty: msgspec.Struct | None
    query: type[msgspec.Struct] | None
    reads: Callable[[bytes, Headers], Any] | None


def decoding(endpoint: Endpoint) -> Decoding:
    return Decoding(
        body=msgspec.json.Decoder(endpoint.body) if endpoint.body else None,
        empty=endpoint.body() if endpoint.body and endpoint.has_optional_body else None,
        query=endpoint.query,
        reads=endpoint.reads,
    )


def body(how: Decoding, content: bytes, headers: Mapping[bytes, bytes]) -> object:
    """The typed body, None for an endpoint that takes none."""
    if how.reads is not None:
        return how.reads(content, headers)
    if how.body is None:
        return None
    if not content:
        if how.empty is not None:
            return how.empty
        raise Undecodable("the body is empty: send a JSON object", _BODY, "Field required")
    _check_content_type(headers.get(b"content-type"))
    _check_coding(headers.get(b"content-encoding"))
    try:
        return how.body.decode(content)
    except msgspec.ValidationError as error:
        raise Undecodable(_plain(error), _path("body", error), _reason(error)) from None
    except msgspec.DecodeError as error:
        raise _no_json(_PLAINER.get(str(error), str(error))) from None
    except UnicodeError:
        raise _no_json("the text is not UTF-8") from None
    except RecursionError:
        raise _no_json("it is nested too deeply") from None


def _no_json(why: str) -> Undecodable:
    return Undecodable(f"the body is not valid JSON: {why}", _BODY, f"JSON decode error: {why}")


def _plain(error: msgspec.ValidationError) -> str:
    """`Expected int >= 1 - at $.limit` as a sentence that names the field."""
    what, field = _reason(error), _where(error)
    return f"the body field {field} is wrong: {what}" if field else f"the body is wrong: {what}"


def _reason(error: Exception) -> str:
    what = str(error)[:300].partition(" - at `$")[0]
    return _PLAINER.get(what, what)


def _path(place: str, error: Exception) -> tuple[str, ...]:
    """Where something is wrong; a field that is missing is named as if it were there."""
    missing = _MISSING.fullmatch(_reason(error))
    return (place, *filter(None, (_where(error), missing[1] if missing else None)))


def _where(error: Exception) -> str:
    return str(error).partition(" - at `$")[2].strip("`.")


def is_json(content_type: bytes | None) -> bool:
    return content_type is not None and content_type.partition(b";")[0].strip().lower() == _JSON


def _check_content_type(value: bytes | None) -> None:
    if value is None or value == _JSON:
        return
    kind, _, rest = value.partition(b";")
    name, _, charset = rest.strip().lower().partition(b"=")
    is_utf8 = name != b"charset" or charset.strip(b' "') in (b"utf-8", b"utf8")
    if kind.strip().lower() != _JSON or not is_utf8:
        raise Invalid("Content-Type must be application/json in UTF-8", Kind.BAD_HEADER, header="Content-Type")


def _check_coding(value: bytes | None) -> None:
    if value is not None and value.strip().lower() != b"identity":
        raise Invalid(
            "Content-Encoding must be left out: a body is read as it comes, and is never unpacked",
            Kind.BAD_HEADER,
            header="Content-Encoding",
        )


def query(how: Decoding, text: bytes) -> tuple[msgspec.Struct | None, Mapping[str, str]]:
    """The typed query and the plain one; names the endpoint does not know are ignored."""
    fields = _fields(text) if text else {}
    if how.query is None:
        return None, fields
    try:
        return msgspec.convert(fields, how.query, strict=False), fields
    except (msgspec.ValidationError, ValueError, OverflowError) as error:
        raise Undecodable(f"the query is wrong: {_about_query(error)}", _path("query", error), _reason(error)) from None


def _about_query(error: Exception) -> str:
    where = _where(error)
    return f"{where}: {_reason(error)}" if where else _reason(error)


def _fields(text: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_QUERY_FIELDS
        )
    except UnicodeError:
        raise Invalid("the query is not UTF-8 after percent-decoding") from None
    except ValueError:
        raise Invalid(f"the query has more than {MOST_QUERY_FIELDS} fields") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = next(name for name, _ in pairs if sum(name == other for other, _ in pairs) > 1)
        raise Invalid(f"the query names {twice[:40]} twice: say it once")
    if any("\0" in value for value in fields.values()):
        raise Invalid("the query holds a NUL character")
    return fields
