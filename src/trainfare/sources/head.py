"""The beginning of a file: enough to tell what it is."""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, cast

from trainfare.errors import TrainfareError
from trainfare.places import Place

HEAD_BYTES = 65536
WHOLE_BYTES = 1 << 20
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Head:
    """A file's name, how it is packed and what it starts with."""

    path: Place
    is_parquet: bool
    is_gzip: bool
    text: str
    """The first 64 KiB, unpacked and decoded; empty for Parquet and for files that are not text."""
    parquet_columns: frozenset[str] = frozenset()
    """Column names in small letters, where it is Parquet."""
    start: bytes = b""
    """The first bytes, unpacked: what a file that is no text can be told by."""

    @property
    def first_line(self) -> str:
        return self.text.split("\n", 1)[0].rstrip("\r")

    @property
    def is_json(self) -> bool:
        return self.text.lstrip()[:1] in ("{", "[")


@contextmanager
def opened(path: Place, is_gzip: bool) -> Iterator[IO[bytes]]:
    """The content of a file, unpacked."""
    with path.open("rb") as raw:
        if not is_gzip:
            yield raw
            return
        with gzip.open(raw, "rb") as unpacked:
            yield cast(IO[bytes], unpacked)


def look(path: Place) -> Head:
    """Read the beginning of a file; a missing, unreadable or empty one is refused, and text that is not UTF-8."""
    try:
        if path.is_dir():
            raise TrainfareError(str(path), "this is a folder", "Name a file, or a pattern such as bills/*.csv.")
        with path.open("rb") as content:
            start = content.read(HEAD_BYTES)
    except FileNotFoundError:
        raise TrainfareError(str(path), "there is no such file", "Check the name and the folder.") from None
    except PermissionError:
        raise TrainfareError(str(path), "this file may not be read", "Give this user the right to read it.") from None
    except OSError as error:
        raise TrainfareError(str(path), f"cannot be read ({error.strerror})", "Check the file and its disk.") from None
    packed = start[:2] == b"\x1f\x8b"
    if packed:
        start = _unpacked(path)
    if not start.strip():
        do = "Export it again; even a month without lines has a header."
        raise TrainfareError(str(path), "the file is empty", do)
    if start[:4] == b"PAR1":
        return Head(path, is_parquet=True, is_gzip=packed, text="")
    head = Head(path, is_parquet=False, is_gzip=packed, text=_decoded(path, start), start=start[:512])
    if "\r" in head.first_line and not head.is_json:
        do = "Save it with the line ends of Unix (LF) or Windows (CRLF), or export it again."
        raise TrainfareError(str(path), "its lines end with CR alone", do)
    return head


def require_whole(head: Head) -> None:
    """Refuse a gzip file whose content does not fit its checksum, wherever it is damaged."""
    if not head.is_gzip:
        return
    try:
        with opened(head.path, is_gzip=True) as content:
            while content.read(WHOLE_BYTES):
                pass
    except (OSError, EOFError, zlib.error):
        raise _damaged(head.path) from None


def digest(head: Head) -> str:
    """The SHA-256 of what a file holds, so that it is the same packed or not."""
    try:
        with opened(head.path, head.is_gzip) as content:
            return hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]  # reads any content
    except (OSError, EOFError, zlib.error):
        if not head.is_gzip:
            raise
        raise _damaged(head.path) from None


def _unpacked(path: Place) -> bytes:
    try:
        with opened(path, is_gzip=True) as content:
            return content.read(HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        raise _damaged(path) from None


def _damaged(path: Place) -> TrainfareError:
    return TrainfareError(str(path), "the gzip file is damaged or cut off", "Export or copy it again.")


def _decoded(path: Place, start: bytes) -> str:
    """The text, or nothing where it is none. Text in another encoding is refused with the line that shows it."""
    if _is_utf_16(start):
        raise TrainfareError(str(path), "this is UTF-16 text", "Save or export it as UTF-8.")
    try:
        return start.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start > len(start) - 4 and len(start) == HEAD_BYTES:
            return start[: error.start].decode("utf-8-sig")
        if _is_binary(start):
            return ""
        line = start.count(b"\n", 0, error.start) + 1
        what = f"this is not UTF-8 text (byte 0x{start[error.start]:02X})"
        raise TrainfareError(f"{path}:{line}", what, "Save or export it as UTF-8.") from None


def _is_utf_16(start: bytes) -> bool:
    """By its mark; without one, every second byte of a header is 0."""
    return start[:2] in UTF_16 or (any(start[:16]) and not (any(start[:16:2]) and any(start[1:16:2])))


def _is_binary(start: bytes) -> bool:
    """Text has tabs and line ends, but none of the other control characters."""
    return any(byte < 32 and byte not in b"\t\n\r\f" for byte in start[:4096]) or start[:5] == b"%PDF-"
