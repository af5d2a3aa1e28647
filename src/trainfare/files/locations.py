"""Locations of files and folders, on this machine or in an object store.

A local location is a `Path`; one in an object store is an `ObjectLocation`, which has the few methods of `Path` that
are used here. Code that reads or writes files therefore works with both. An object is written completely or not at
all, and a folder in an object store is only a name.

The client library (s3fs, the extra `s3`) is imported when the first object is accessed. Keys, profile, region and
endpoint come from where the AWS tools read them, and are stored nowhere.
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
"""A file with a build id in its name was written once, by that build, and never changes."""
ENDPOINT = "AWS_ENDPOINT_URL"
"""The environment variable with the address of an object store other than AWS."""


@dataclass(frozen=True, order=True)
class ObjectLocation:
    """A file or folder in an object store, by its address: s3://bucket/bills/october.csv."""

    address: str

    def __str__(self) -> str:
        return self.address

    def __truediv__(self, name: str) -> "ObjectLocation":
        return ObjectLocation(f"{self.address.rstrip('/')}/{name}")

    @property
    def name(self) -> str:
        return self.address.rstrip("/").rsplit("/", 1)[1]

    @property
    def parent(self) -> "ObjectLocation":
        return ObjectLocation(self.address.rstrip("/").rsplit("/", 1)[0])

    def absolute(self) -> "ObjectLocation":
        return self

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a folder exists as soon as something is in it."""

    def is_dir(self) -> bool:
        with translate_errors(self):
            try:
                return bool(file_system().info(self.address)["type"] == "directory")
            except FileNotFoundError:
                return False

    def exists(self) -> bool:
        with translate_errors(self):
            return bool(file_system().exists(self.address))

    @contextmanager
    def open(self, mode: str = "rb") -> Iterator[IO[bytes]]:
        """Open the content. A write becomes visible when the block ends; if it ends in an error, nothing is written."""
        with translate_errors(self), closing(file_system().open(self.address, mode)) as stream:
            try:
                yield stream
            except BaseException:
                if "w" in mode:
                    stream.discard()
                    stream.closed = True  # closing would otherwise upload what was written so far
                raise

    def below(self) -> list["ObjectLocation"]:
        """List every object below this folder, by name."""
        with translate_errors(self):
            return sorted(ObjectLocation(f"{SCHEME}{found}") for found in file_system().find(self.address))

    def matching(self) -> list["ObjectLocation"]:
        """List the objects that match this address as a pattern, by name."""
        with translate_errors(self):
            found = file_system().glob(self.address, detail=True)
        return sorted(ObjectLocation(f"{SCHEME}{name}") for name, info in found.items() if info["type"] == "file")

    def write_new(self, content: bytes) -> None:
        """Create an object unless it exists. If several processes try at once, exactly one succeeds."""
        try:
            with translate_errors(self):
                file_system().pipe_file(self.address, content, mode="create")
        except UnreachableError:
            if not self.exists():
                self._require_bucket()
                raise

    def _require_bucket(self) -> None:
        """Raise if the bucket does not exist: not every store says so when a write fails."""
        with translate_errors(self):
            bucket = self.address.removeprefix(SCHEME).split("/", 1)[0]
            file_system().call_s3("list_objects_v2", Bucket=bucket, MaxKeys=1)


Location = Path | ObjectLocation


def locate(text: str, folder: Path | None = None) -> Location:
    """Return the location that `text` names; a relative path starts at `folder`."""
    if "://" not in text:
        return (folder or Path()) / text
    if problem := address_problem(text):
        what, do = problem
        raise TrainfareError(_without_secrets(text), what, do)
    return ObjectLocation(text)


def address_problem(address: str) -> tuple[str, str] | None:
    """Return what is wrong with an object store address and what to do, or None if it is valid."""
    if not address.startswith(SCHEME):
        scheme = address.split("://", 1)[0]
        return f"{scheme}:// is not supported", "Use a folder, or an address such as s3://bucket/folder."
    bucket = address.removeprefix(SCHEME).split("/", 1)[0]
    if "@" in bucket:
        do = "Remove them, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
        return "an address must not contain keys, because it is stored and displayed", do
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{2,62}", bucket):
        return f"'{bucket}' is not a valid bucket name", "Write it as s3://bucket/folder."
    return None


def _without_secrets(address: str) -> str:
    return re.sub(r"://[^/]*@", "://", address)


def use_endpoint(endpoint: str | None) -> None:
    """Use the object store at this address from now on, unless the environment names another one."""
    if endpoint:
        os.environ.setdefault(ENDPOINT, endpoint)


def matching_files(named: Location) -> list[Location]:
    """Return the named file, or the files that match it as a pattern, in order; empty if none matches."""
    if not glob.has_magic(str(named)) or named.exists():
        return [named]
    if isinstance(named, ObjectLocation):
        return [*named.matching()]
    return [*sorted(Path(name) for name in glob.glob(str(named), recursive=True) if Path(name).is_file())]


def files_below(folder: Location) -> list[Location]:
    """Return the files below a folder, in order. Names that begin with a dot or an underscore are no data.

    Tools leave such files behind: `_SUCCESS`, `.part-0.crc`, `_delta_log/`.
    """
    if isinstance(folder, ObjectLocation):
        found: list[Location] = [*folder.below()]
    else:
        found = [*sorted(path for path in folder.rglob("*") if path.is_file())]
    return [one for one in found if not re.search(r"/[._]", str(one).removeprefix(str(folder).rstrip("/")))]


def modification_stamp(named: Location) -> object:
    """Return a value that differs whenever the file was changed in between; None if there is no such file."""
    if isinstance(named, ObjectLocation):
        with translate_errors(named):
            return file_system().info(named.address).get("ETag")
    try:
        status = named.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def copy(origin: Location, target: Location) -> None:
    """Copy a file. Within an object store, the store copies it itself."""
    if isinstance(origin, ObjectLocation) and isinstance(target, ObjectLocation):
        with translate_errors(target):
            file_system().copy(origin.address, target.address)
    elif isinstance(origin, Path) and isinstance(target, Path):
        shutil.copyfile(origin, target)
    else:
        with origin.open("rb") as source, target.open("wb") as copied:
            shutil.copyfileobj(source, copied, 1 << 20)


def remove(objects: Sequence[ObjectLocation]) -> None:
    """Remove objects in batches; one that no longer exists is ignored."""
    addresses = [str(one) for one in objects]
    if addresses:
        with translate_errors(ObjectLocation(addresses[0])):
            file_system().rm(addresses)


def clear(folder: Location) -> None:
    """Remove a folder with everything in it, if it exists."""
    if isinstance(folder, ObjectLocation):
        remove(folder.below())
    else:
        shutil.rmtree(folder, ignore_errors=True)


def fsync(written: Location) -> None:
    """Flush a file to disk. An object store has done so when it confirms a write."""
    if isinstance(written, Path):
        descriptor = os.open(written, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@cache
def file_system() -> Any:
    """Return the object store client, configured by the environment."""
    try:
        from trainfare.files.object_store import ObjectStore
    except ImportError:
        do = "Install it: pip install 'trainfare[s3]'"
        raise TrainfareError(SCHEME, "an object store needs the package s3fs", do) from None
    return ObjectStore()


@contextmanager
def translate_errors(at: ObjectLocation) -> Iterator[None]:
    """Turn an error of the object store into one that names the address."""
    try:
        yield
    except (TrainfareError, BadGzipFile):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise  # the local disk is full, not the object store
        if known := object_store_error(str(at), [one.__name__ for one in type(error).__mro__], str(error)):
            raise known from error
        raise


_CREDENTIALS = (
    "NoCredentialsError",
    "PartialCredentialsError",
    "CredentialRetrievalError",
    "ProfileNotFound",
    "TokenError",
)
_UNREACHABLE = ("ConnectionError", "HTTPClientError", "TimeoutError", "ClientConnectionError")


def object_store_error(where: str, classes: list[str], reason: str) -> TrainfareError | None:
    """Return the error for an object store exception, given its class names, most specific first; None if unknown."""
    if "FileNotFoundError" in classes:
        if "bucket" in reason.lower():
            return UnreachableError(where, "there is no such bucket", "Check its name, or create it.")
        return TrainfareError(where, "there is no such file", "Check the name and the folder.")
    if "PermissionError" in classes:
        do = "Check which keys are set, and their permissions on this bucket."
        return UnreachableError(where, "the object store denied access", do)
    if any(name in _CREDENTIALS for name in classes):
        do = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
        return UnreachableError(where, "no credentials for the object store", do)
    if any(name in _UNREACHABLE or name.endswith(("ConnectionError", "TimeoutError")) for name in classes):
        at = os.environ.get(ENDPOINT, "AWS")
        return UnreachableError(
            where, f"the object store does not answer at {at}", f"Check the network and {ENDPOINT}."
        )
    if {"OSError", "BotoCoreError", "ClientError"} & set(classes):
        what = f"the object store failed: {(reason.splitlines() or [classes[0]])[0]}"
        return UnreachableError(where, what, "Run the command again; published books are unchanged.")
    return None
