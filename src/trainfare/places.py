"""Places: where a file or a folder is, on this machine or in an object store.

A place of this machine is a `Path`; one in an object store is a `Remote`, which has the few words of a Path that are used of it. So
what reads or writes a place need not ask which it is. Objects are written whole or not at all, and folders there are only names.

The library for it (s3fs, the extra `s3`) is imported when the first such place is touched. Keys, profile, region and endpoint are
taken from where AWS' own tools take them, and are kept nowhere.
"""

import errno
import glob
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from gzip import BadGzipFile
from pathlib import Path
from typing import IO, Any

from trainfare.errors import TrainfareError, UnreachableError

SCHEME = "s3://"
BUILD_ID = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{8}")
"""What has the id of a build in its name was written by it, once, and never changes."""
ENDPOINT = "AWS_ENDPOINT_URL"
"""Where the object store is, if it is not AWS' own."""


@dataclass(frozen=True, order=True)
class Remote:
    """A file or a folder of an object store, by its address: s3://bucket/bills/october.csv."""

    address: str

    def __str__(self) -> str:
        return self.address

    def __truediv__(self, name: str) -> "Remote":
        return Remote(f"{self.address.rstrip('/')}/{name}")

    @property
    def name(self) -> str:
        return self.address.rstrip("/").rsplit("/", 1)[1]

    @property
    def parent(self) -> "Remote":
        return Remote(self.address.rstrip("/").rsplit("/", 1)[0])

    def absolute(self) -> "Remote":
        return self

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Nothing: a folder is there as soon as something is in it."""

    def is_dir(self) -> bool:
        with told(self):
            try:
                return bool(file_system().info(self.address)["type"] == "directory")
            except FileNotFoundError:
                return False

    def exists(self) -> bool:
        with told(self):
            return bool(file_system().exists(self.address))

    @contextmanager
    def open(self, mode: str = "rb") -> Iterator[IO[bytes]]:
        """The content. What is written is there when the block ends, whole; if it ends in an error, nothing is."""
        with told(self), closing(file_system().open(self.address, mode)) as opened:
            try:
                yield opened
            except BaseException:
                if "w" in mode:
                    opened.discard()
                    opened.closed = True  # closing would otherwise put what was written so far
                raise

    def below(self) -> list["Remote"]:
        """Every object below this folder, by name."""
        with told(self):
            return sorted(Remote(f"{SCHEME}{found}") for found in file_system().find(self.address))

    def matching(self) -> list["Remote"]:
        """The objects that fit this address taken as a pattern, by name."""
        with told(self):
            found = file_system().glob(self.address, detail=True)
        return sorted(Remote(f"{SCHEME}{name}") for name, about in found.items() if about["type"] == "file")

    def write_new(self, content: bytes) -> None:
        """Make an object, unless there is one of this name: of several who try at once, one does."""
        try:
            with told(self):
                file_system().pipe_file(self.address, content, mode="create")
        except UnreachableError:
            if not self.exists():
                self._require_bucket()
                raise

    def _require_bucket(self) -> None:
        """Not every store says why nothing can be put into a bucket that is not there."""
        with told(self):
            bucket = self.address.removeprefix(SCHEME).split("/", 1)[0]
            file_system().call_s3("list_objects_v2", Bucket=bucket, MaxKeys=1)


Place = Path | Remote


def place(text: str, folder: Path | None = None) -> Place:
    """The place that a text names; a relative path starts at `folder`."""
    if "://" not in text:
        return (folder or Path()) / text
    if wrong := misnamed(text):
        what, do = wrong
        raise TrainfareError(_without_secrets(text), what, do)
    return Remote(text)


def misnamed(address: str) -> tuple[str, str] | None:
    """What is wrong with the address of an object store, and what to do; None if it can be one."""
    if not address.startswith(SCHEME):
        scheme = address.split("://", 1)[0]
        return f"there is no way to read {scheme}://", "Use a folder, or an address such as s3://bucket/folder."
    bucket = address.removeprefix(SCHEME).split("/", 1)[0]
    if "@" in bucket:
        do = "Take them out, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
        return "an address must not hold keys: it is kept and shown", do
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{2,62}", bucket):
        return f"'{bucket}' is not the name of a bucket", "Write it as s3://bucket/folder."
    return None


def _without_secrets(address: str) -> str:
    return re.sub(r"://[^/]*@", "://", address)


def seek(endpoint: str | None) -> None:
    """Look for the object store at this address from now on, unless the environment names another one."""
    if endpoint:
        os.environ.setdefault(ENDPOINT, endpoint)


def fitting(named: Place) -> list[Place]:
    """The file that is named, or those that fit it as a pattern, in order; none if none fits."""
    if not glob.has_magic(str(named)) or named.exists():
        return [named]
    if isinstance(named, Remote):
        return [*named.matching()]
    return [*sorted(Path(name) for name in glob.glob(str(named), recursive=True) if Path(name).is_file())]


def stamp(named: Place) -> object:
    """Something that is different if the file was changed in between."""
    if isinstance(named, Remote):
        with told(named):
            return file_system().info(named.address).get("ETag")
    about = named.stat()
    return about.st_size, about.st_mtime_ns, about.st_ino


def copy(origin: Place, target: Place) -> None:
    """Copy a file; within an object store, the store does it."""
    if isinstance(origin, Remote) and isinstance(target, Remote):
        with told(target):
            file_system().copy(origin.address, target.address)
    elif isinstance(origin, Path) and isinstance(target, Path):
        shutil.copyfile(origin, target)
    else:
        with origin.open("rb") as source, target.open("wb") as opened:
            shutil.copyfileobj(source, opened, 1 << 20)


def remove(places: Sequence[Remote]) -> None:
    """Remove objects, many at a time; one that is gone already is fine."""
    addresses = [str(one) for one in places]
    if addresses:
        with told(Remote(addresses[0])):
            file_system().rm(addresses)


def clear(folder: Place) -> None:
    """Remove a folder with everything in it, if it is there."""
    if isinstance(folder, Remote):
        remove(folder.below())
    else:
        shutil.rmtree(folder, ignore_errors=True)


def fsync(written: Place) -> None:
    """Bring a file onto the disk. An object store has it on its own when it says that it was written."""
    if isinstance(written, Path):
        opened = os.open(written, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


@cache
def file_system() -> Any:
    """The object store, as the environment describes it."""
    try:
        from trainfare.object_store import ObjectStore
    except ImportError:
        do = "Install it: pip install 'trainfare[s3]'"
        raise TrainfareError(SCHEME, "an object store needs the package s3fs", do) from None
    return ObjectStore()


@contextmanager
def told(at: Remote) -> Iterator[None]:
    """Tell a fault of the object store with the address it is about."""
    try:
        yield
    except (TrainfareError, BadGzipFile):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise  # of this machine's disk, where something is copied to
        if known := fault(str(at), [one.__name__ for one in type(error).__mro__], str(error)):
            raise known from error
        raise


_KEYS = ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "ProfileNotFound", "TokenError")
_SILENT = ("ConnectionError", "HTTPClientError", "TimeoutError", "ClientConnectionError")


def fault(where: str, kinds: list[str], reason: str) -> TrainfareError | None:
    """A fault of the object store by the names of its kinds, most special first; None if it is none of these."""
    if "FileNotFoundError" in kinds:
        if "bucket" in reason.lower():
            return UnreachableError(where, "there is no such bucket", "Check its name, or make it.")
        return TrainfareError(where, "there is no such file", "Check the name and the folder.")
    if "PermissionError" in kinds:
        do = "Check whose keys are set, and what they may do with this bucket."
        return UnreachableError(where, "the object store does not let us in", do)
    if any(name in _KEYS for name in kinds):
        do = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
        return UnreachableError(where, "there are no keys for the object store", do)
    if any(name in _SILENT or name.endswith(("ConnectionError", "TimeoutError")) for name in kinds):
        at = os.environ.get(ENDPOINT, "AWS")
        return UnreachableError(
            where, f"the object store does not answer at {at}", f"Check the network and {ENDPOINT}."
        )
    if {"OSError", "BotoCoreError", "ClientError"} & set(kinds):
        what = f"the object store failed: {(reason.splitlines() or [kinds[0]])[0]}"
        return UnreachableError(where, what, "Run the command again; what was published stands.")
    return None
