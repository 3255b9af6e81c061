"""What lies in an artifact: which paths and locations there may be, and what files add up to."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote, unquote, urlsplit

from cableferry.core.artifacts import Artifact, Declared, File, Residence, Sum
from cableferry.core.errors import Conflict, Invalid, Kind

LONGEST_PATH = 1024
SHA256 = re.compile("[0-9a-fA-F]{64}")

# U+10FFFF is no character: the store takes it for the end of all names
_FORBIDDEN = re.compile("[\x00-\x1f\x7f\U0010ffff]")
_PLAIN = "/:@!$&'()*+,;=~"
_SCHEMES = {
    Residence.POSIX: ("file:///",),
    Residence.S3: ("s3://",),
    Residence.HTTP: ("https://", "http://"),
}


def check_path(path: str) -> str:
    """A path inside an artifact: kept byte for byte, so it must mean one thing to every client."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise Invalid("a file's path must be UTF-8", Kind.BAD_PATH) from None
    if not 0 < size <= LONGEST_PATH:
        raise Invalid(f"a file's path must have 1 to {LONGEST_PATH} bytes of UTF-8", Kind.BAD_PATH)
    if _FORBIDDEN.search(path):
        raise Invalid("a file's path must not hold control characters", Kind.BAD_PATH)
    if any(segment in ("", ".", "..") for segment in path.split("/")):
        raise Invalid("a file's path must have no empty segment and none that is . or ..", Kind.BAD_PATH)
    return path


def check_location(residence: Residence, url: str | None, roots: Sequence[str] = ()) -> None:
    """Refuse a content_url that does not say where such an artifact lives."""
    if residence is Residence.MANAGED and url is not None:
        raise Invalid("a managed artifact has no content_url: upload its files", Kind.BAD_LOCATION)
    if residence in _SCHEMES and not (url or "").startswith(_SCHEMES[residence]):
        wanted = " or ".join(_SCHEMES[residence])
        raise Invalid(
            f"an artifact of residence {residence} needs a content_url that begins with {wanted}", Kind.BAD_LOCATION
        )
    if url is None:
        return
    if _FORBIDDEN.search(url) or any(part in ("..", ".") for part in re.split(r"[/\\\\]", unquote(url))):
        raise Invalid("content_url must hold no control characters and no segment that is . or ..", Kind.BAD_LOCATION)
    if residence is Residence.POSIX:
        _check_root(posix_path(url), roots)
    else:
        _check_authority(url, needs_host=residence in _SCHEMES)


def _check_authority(url: str, needs_host: bool) -> None:
    try:
        address = urlsplit(url)
        # a port that is none is told when it is asked for
        is_address = not needs_host or (bool(address.hostname) and address.port != 0)
    except ValueError:
        is_address = False
    if not is_address:
        raise Invalid("content_url is no address", Kind.BAD_LOCATION)
    if "@" in address.netloc:
        raise Invalid("content_url must not hold a user or a password", Kind.BAD_LOCATION)


def posix_path(url: str) -> str:
    """The absolute path behind file:///..., exactly as it was written: daemons do not encode it."""
    return "/" + url.removeprefix("file://").lstrip("/")


def _check_root(path: str, roots: Sequence[str]) -> None:
    """Without roots every place may be named, for then the server opens none."""
    if roots and not any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots):
        raise Invalid(f"content_url must lie under one of {', '.join(roots)}", Kind.BAD_LOCATION)


def location(artifact: Artifact, path: str) -> str:
    """Where one file of an artifact that lives elsewhere is; a content_url that names the file itself is it."""
    url, name, query = artifact.content_url or "", path, ""
    # only an address on the web is encoded already, and has a query; elsewhere names stand as they are
    if artifact.residence is Residence.HTTP:
        url, mark, after = url.partition("?")
        name, query = quote(path, safe=_PLAIN), mark + after
    base = url.rstrip("/")
    if "." in path and base.rpartition("/")[2] == name:
        return base + query
    return f"{base}/{name}{query}"


def spelled(declared: str) -> str:
    """A SHA-256 as tree hashes have it; what is no SHA-256 stays as it was said."""
    return declared.lower() if SHA256.fullmatch(declared) else declared


def tree_hash(files: Iterable[tuple[str, str]]) -> str:
    """One hash over paths and the hashes of their bytes; a single file's is its own."""
    pairs = sorted(files)
    if len(pairs) == 1:
        return pairs[0][1]
    whole = hashlib.sha256()
    for path, sha256 in pairs:
        whole.update(f"{path}:{sha256}".encode())
    return whole.hexdigest()


def add_up(files: Sequence[File]) -> Sum:
    """What a commit of these files would say."""
    sizes = [file.size_bytes for file in files]
    size = None if None in sizes else sum(size for size in sizes if size is not None)
    hashes = [(file.path, file.sha256) for file in files if file.sha256 is not None]
    return Sum(len(files), size, tree_hash(hashes) if files and len(hashes) == len(files) else None)


def check_declared(artifact: Artifact, declared: Declared, found: Sum, known_as: str | None = None) -> None:
    """Refuse a commit whose hash or size is not that of the files; `known_as` is another hash of the same bytes."""
    hashes = {known.lower() for known in (found.sha256, known_as) if known is not None}
    if declared.sha256 is not None and hashes and declared.sha256.lower() not in hashes:
        raise Conflict(
            f"the commit of artifact {artifact.id} declares SHA-256 {declared.sha256[:64]},"
            f" but its files have {found.sha256}: upload what is missing or wrong, then commit again",
            Kind.HASH_MISMATCH,
            current_state=artifact.stage,
        )
    if None not in (declared.size_bytes, found.size_bytes) and found.files and declared.size_bytes != found.size_bytes:
        raise Conflict(
            f"the commit of artifact {artifact.id} declares {declared.size_bytes} bytes,"
            f" but its files have {found.size_bytes}: upload what is missing or wrong, then commit again",
            Kind.HASH_MISMATCH,
            current_state=artifact.stage,
        )
