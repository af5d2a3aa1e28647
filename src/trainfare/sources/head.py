"""The beginning of a file, enough to recognize its format."""

import gzip
import hashlib
import shutil
import stat
import struct
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, cast

from trainfare.errors import TrainfareError
from trainfare.files.locations import Location

HEAD_BYTES = 65536
BLOCK_BYTES = 1 << 20
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


CHANGED = ("the file changed while it was read", "Run the command again when it is complete.")


class Unit(StrEnum):
    """What a reader counts."""

    RECORDS = "rows"
    """Rows of a delimited file below its header; blank lines are none."""
    LINES = "lines"
    """All lines, blank ones too."""
    ENTRIES = "entries"
    """Entries of a JSON list."""
    OBJECTS = "objects"
    """JSON objects one after another, each on one or several lines."""
    PARQUET_ROWS = "Parquet rows"


@dataclass
class Tally:
    """How many rows a reader found in a file. Every reader records it, and `counts.py` checks it."""

    unit: Unit | None = None
    rows: int = 0
    header_rows: int = 0
    """The rows of a delimited file that precede those that were read."""

    def record(self, unit: Unit, rows: int, header_rows: int = 1) -> None:
        self.unit, self.rows, self.header_rows = unit, rows, header_rows


@dataclass(frozen=True)
class Content:
    """The decompressed content of a file: its fingerprint, the same with and without gzip, and its size."""

    sha256: str
    size: int
    lines: int
    has_long_line: bool = False
    """Whether a line is so long that a reader may lose it without a message. Every line of 2 MB is."""


@dataclass(frozen=True)
class Head:
    """A file's name, its compression and how it starts."""

    path: Location
    is_parquet: bool
    is_gzip: bool
    text: str
    """The first 64 KiB, decompressed and decoded; empty for Parquet and for files that are not text."""
    parquet_columns: frozenset[str] = frozenset()
    """Column names of a Parquet file, in lower case."""
    start: bytes = b""
    """The first bytes, decompressed, by which binary formats are recognized."""
    tally: Tally = field(default_factory=Tally, compare=False)
    """What the reader of this file found."""
    unpacked: "Unpacked | None" = field(default=None, compare=False)
    """The file that a zip file contains."""

    @property
    def content(self) -> Location:
        """Where the content is read: the file itself, or what was unpacked from it."""
        return self.unpacked.path if self.unpacked else self.path

    @property
    def first_line(self) -> str:
        return self.text.split("\n", 1)[0].rstrip("\r")

    @property
    def is_json(self) -> bool:
        return self.text.lstrip()[:1] in ("{", "[")


class Unpacked:
    """The one file in a zip file, in a temporary folder that disappears with this object."""

    def __init__(self, archive: Location) -> None:
        folder = tempfile.mkdtemp(prefix="trainfare-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = Path(folder) / "unpacked"
        try:
            with archive.open("rb") as packed, zipfile.ZipFile(packed) as opened:
                names = [one.filename for one in opened.infolist() if not one.is_dir()]
                if any(name == "[Content_Types].xml" for name in names):
                    do = "Save the sheet as CSV (UTF-8)."
                    raise TrainfareError(str(archive), "unrecognized file format: an Excel workbook", do)
                if len(names) != 1:
                    what = f"the zip file contains {len(names)} files, not one"
                    raise TrainfareError(str(archive), what, "Unzip it, and name the files themselves.")
                with opened.open(names[0]) as content, self.path.open("wb") as written:
                    shutil.copyfileobj(content, written, BLOCK_BYTES)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error):
            do = "Export or copy it again; a zip file with a password is not read."
            raise TrainfareError(str(archive), "the zip file is damaged or truncated", do) from None


@contextmanager
def open_content(path: Location, is_gzip: bool) -> Iterator[IO[bytes]]:
    """Open the content of a file, decompressed."""
    with path.open("rb") as raw:
        if not is_gzip:
            yield raw
            return
        with gzip.open(raw, "rb") as content:
            yield cast(IO[bytes], content)


def read_head(path: Location) -> Head:
    """Read the beginning of a file; missing, unreadable and empty files and text other than UTF-8 are errors."""
    try:
        if path.is_dir():
            raise TrainfareError(str(path), "this is a folder", "Name a file, or a pattern such as bills/*.csv.")
        _require_regular(path)
        with path.open("rb") as content:
            start = content.read(HEAD_BYTES)
    except FileNotFoundError:
        raise TrainfareError(str(path), "there is no such file", "Check the name and the folder.") from None
    except PermissionError:
        raise TrainfareError(str(path), "permission denied", "Give this user permission to read the file.") from None
    except OSError as error:
        raise TrainfareError(str(path), f"cannot be read ({error.strerror})", "Check the file and its disk.") from None
    if start[:4] == b"PK\x03\x04":
        unpacked = Unpacked(path)
        with unpacked.path.open("rb") as content:
            start = content.read(HEAD_BYTES)
        return replace(_head_of(path, unpacked.path, start), unpacked=unpacked)
    return _head_of(path, path, start)


def _head_of(path: Location, content: Location, start: bytes) -> Head:
    """Return the head of a file whose content starts like this; `path` names it in messages."""
    is_gzip = start[:2] == b"\x1f\x8b"
    if is_gzip:
        start = _decompressed(content)
    if not start.strip():
        do = "Export it again; even an export without rows has a header."
        raise TrainfareError(str(path), "the file is empty", do)
    if start[:4] == b"PAR1" and content != path:
        raise TrainfareError(str(path), "Parquet inside a zip file", "Unzip it: Parquet is compressed internally.")
    if start[:4] == b"PAR1":
        return Head(path, is_parquet=True, is_gzip=is_gzip, text="")
    _require_short_header(path, start)
    head = Head(path, is_parquet=False, is_gzip=is_gzip, text=_decoded(path, start), start=start[:512])
    if "\r" in head.first_line and not head.is_json:
        do = "Save it with Unix (LF) or Windows (CRLF) line endings, or export it again."
        raise TrainfareError(str(path), "lines end with CR only", do)
    return head


def require_intact(head: Head) -> None:
    """Raise if the content of a gzip file does not match its checksum, wherever it is damaged."""
    if not head.is_gzip:
        return
    try:
        with open_content(head.content, is_gzip=True) as content:
            while content.read(BLOCK_BYTES):
                pass
    except (OSError, EOFError, zlib.error):
        raise _damaged(head.path) from None


def measure(head: Head) -> Content:
    """Read a file once, and return the fingerprint and the size of its content."""
    sha256, size, line_ends, last, has_long_line = hashlib.sha256(), 0, 0, b"\n", False
    most = head.content.stat().st_size if isinstance(head.content, Path) and not head.is_gzip else None
    try:
        with open_content(head.content, head.is_gzip) as content:
            while block := content.read(BLOCK_BYTES):
                sha256.update(block)
                found = block.count(b"\n")
                has_long_line |= not found and len(block) == BLOCK_BYTES
                size, line_ends, last = size + len(block), line_ends + found, block[-1:]
                if most is not None and size > most:  # somebody still writes to it, and may never stop
                    break
    except (OSError, EOFError, zlib.error):
        if not head.is_gzip:
            raise
        raise _damaged(head.path) from None
    if most is not None and size != most:
        raise TrainfareError(str(head.path), *CHANGED)
    return Content(sha256.hexdigest(), size, line_ends + (last != b"\n"), has_long_line)


def _require_regular(path: Location) -> None:
    """Refuse pipes and devices, which may never end and cannot be read twice, before anything waits for them."""
    if isinstance(path, Path) and not stat.S_ISREG(path.stat().st_mode):
        raise TrainfareError(str(path), "this is a pipe or a device, not a file", "Write its content to a file first.")


def _require_short_header(path: Location, start: bytes) -> None:
    """Refuse a table whose header does not fit the head: it has thousands of columns, or no line breaks."""
    if len(start) < HEAD_BYTES or b"\n" in start or start.lstrip()[:1] in (b"{", b"[") or _is_binary(start):
        return
    marks = max(start.count(mark) for mark in (b",", b";", b"\t", b"|"))
    what = f"the first line is longer than {HEAD_BYTES // 1024} KiB"
    if marks:
        what += f": a header with more than {marks:,} columns"
    raise TrainfareError(f"{path}:1", what, "Export only the columns that are needed, with one line per row.")


def _decompressed(path: Location) -> bytes:
    try:
        with open_content(path, is_gzip=True) as content:
            return content.read(HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        raise _damaged(path) from None


def _damaged(path: Location) -> TrainfareError:
    return TrainfareError(str(path), "the gzip file is damaged or truncated", "Export or copy it again.")


def _decoded(path: Location, start: bytes) -> str:
    """Return the text, empty if it is binary. Text in another encoding is rejected with the line that shows it."""
    if _is_utf_16(start):
        raise TrainfareError(str(path), "the file is UTF-16, not UTF-8", "Save or export it as UTF-8.")
    try:
        return start.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start > len(start) - 4 and len(start) == HEAD_BYTES:
            return start[: error.start].decode("utf-8-sig")
        if _is_binary(start):
            return ""
        line = start.count(b"\n", 0, error.start) + 1
        what = f"not UTF-8 text (byte 0x{start[error.start]:02X})"
        raise TrainfareError(f"{path}:{line}", what, "Save or export it as UTF-8.") from None


def _is_utf_16(start: bytes) -> bool:
    """Return whether it has a byte order mark, or every second byte of the header is 0."""
    return start[:2] in UTF_16 or (any(start[:16]) and not (any(start[:16:2]) and any(start[1:16:2])))


def _is_binary(start: bytes) -> bool:
    """Return whether there are control characters other than tabs and line breaks."""
    return any(byte < 32 and byte not in b"\t\n\r\f" for byte in start[:4096]) or start[:5] == b"%PDF-"
