"""The size and SHA-256 of files that are written once, verified when a process first opens them.

A verified file is not read again while its size, times and inode (in an object store its ETag) stay the same. A table
may be a folder of files; its digest covers their names and contents.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from trainfare.errors import TrainfareError, UnreachableError
from trainfare.files.locations import Location, ObjectLocation, modification_stamp

BLOCK_BYTES = 1 << 20
_THREADS = min(4, os.cpu_count() or 1)
MISSING, DAMAGED = "missing", "damaged"


@dataclass(frozen=True)
class Digest:
    """The size of a file in bytes, and the SHA-256 of its content."""

    size: int
    sha256: str


_VERIFIED: dict[str, tuple[object, Digest]] = {}
"""By location, the state in which this process verified it, and its digest."""


def digest(location: Location) -> Digest:
    """Return the digest of a file, or of all files in a folder."""
    if not location.is_dir():
        return _file_digest(location)
    parts = [(_name_below(location, part), _file_digest(part)) for part in _parts(location)]
    listed = "".join(f"{name}\n{one.size}\n{one.sha256}\n" for name, one in parts)
    return Digest(sum(one.size for _, one in parts), hashlib.sha256(listed.encode()).hexdigest())


def problems(expected: Mapping[Location, Digest], again: bool = False) -> dict[Location, str]:
    """Return which of these files are missing or damaged. With `again`, verified files are read once more."""
    if len(expected) == 1 or _THREADS == 1:
        found = [_problem(location, one, again) for location, one in expected.items()]
    else:
        with ThreadPoolExecutor(_THREADS) as threads:
            found = list(threads.map(lambda item: _problem(item[0], item[1], again), expected.items()))
    return {location: problem for location, problem in zip(expected, found, strict=True) if problem}


def changed_since(locations: Iterable[str]) -> str:
    """Return the first of these local files that this process verified and that is different now; empty if none is."""
    for name in locations:
        if "://" not in name and (verified := _VERIFIED.get(name)) and _problem(Path(name), verified[1], again=True):
            return name
    return ""


def _problem(location: Location, expected: Digest, again: bool) -> str:
    try:
        stamp = _stamp(location)
        if not again and _VERIFIED.get(str(location)) == (stamp, expected):
            return ""
        _VERIFIED.pop(str(location), None)
        found = digest(location)
    except FileNotFoundError:
        return MISSING
    except UnreachableError:
        raise
    except TrainfareError:  # the object store has no such object
        return MISSING
    except OSError:
        return DAMAGED
    if found != expected:
        return DAMAGED
    _VERIFIED[str(location)] = stamp, expected
    return ""


def _stamp(location: Location) -> object:
    if not location.is_dir():
        return modification_stamp(location)
    return tuple((str(part), modification_stamp(part)) for part in _parts(location))


def _parts(folder: Location) -> list[Location]:
    if isinstance(folder, ObjectLocation):
        return [*folder.below()]
    return [*sorted(path for path in folder.rglob("*") if path.is_file())]


def _name_below(folder: Location, part: Location) -> str:
    return str(part).removeprefix(str(folder)).lstrip("/")


def _file_digest(location: Location) -> Digest:
    sha256, size = hashlib.sha256(), 0
    with location.open("rb") as content:
        while block := content.read(BLOCK_BYTES):
            sha256.update(block)
            size += len(block)
    return Digest(size, sha256.hexdigest())
