"""The beginning of a file: enough to tell what it is."""

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

from trainfare.errors import TrainfareError

HEAD_BYTES = 65536


@dataclass(frozen=True)
class Head:
    """A file's name, how it is packed and what it starts with."""

    path: Path
    is_parquet: bool
    is_gzip: bool
    text: str
    """The first 64 KiB, unpacked and decoded; empty for Parquet and for files that are not text."""
    parquet_columns: frozenset[str] = frozenset()
    """Column names in small letters, where it is Parquet."""

    @property
    def first_line(self) -> str:
        return self.text.split("\n", 1)[0].rstrip("\r")

    @property
    def is_json(self) -> bool:
        return self.text.lstrip()[:1] in ("{", "[")


def look(path: Path) -> Head:
    """Read the beginning of a file; a missing, unreadable or empty one is refused."""
    try:
        if path.is_dir():
            raise TrainfareError(str(path), "this is a folder", "Name a file, or a pattern such as bills/*.csv.")
        with path.open("rb") as opened:
            start = opened.read(HEAD_BYTES)
    except FileNotFoundError:
        raise TrainfareError(str(path), "there is no such file", "Check the name and the folder.") from None
    except PermissionError:
        raise TrainfareError(str(path), "this file may not be read", "Give this user the right to read it.") from None
    if not start:
        raise TrainfareError(str(path), "the file is empty", "Export it again; even a month without lines has a header.")
    packed = start[:2] == b"\x1f\x8b"
    if packed:
        start = _unpacked(path)
    if start[:4] == b"PAR1":
        return Head(path, is_parquet=True, is_gzip=packed, text="")
    return Head(path, is_parquet=False, is_gzip=packed, text=_decoded(start))


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path, "rb") as opened:
            return opened.read(HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        raise TrainfareError(str(path), "the gzip file is damaged", "Export or copy it again.") from None


def _decoded(start: bytes) -> str:
    for encoding in ("utf-8-sig", "utf-16"):
        if encoding == "utf-16" and start[:2] not in (b"\xff\xfe", b"\xfe\xff"):
            continue
        try:
            return start.decode(encoding)
        except UnicodeDecodeError as error:
            if error.start > len(start) - 4:
                return start[: error.start].decode(encoding)
    return ""
