"""`trainfare sync`: send the events of spool folders that were not sent yet."""

import gzip
import http.client
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import click

from trainfare.cli import terminal
from trainfare.errors import TrainfareError, UnreachableError

EVENTS = "/api/v1/events"
BATCH_EVENTS, BATCH_BYTES = 500, 256 * 1024
TIMEOUT_SECONDS = 60
RESPONSE_BYTES = 8 * 1024 * 1024
SHOWN = 20
"""How many rejected events are listed."""


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--server", metavar="URL", envvar="TRAINFARE_SERVER", help="The server.  [default: $TRAINFARE_SERVER]")
@click.option(
    "--token",
    metavar="WHERE",
    default="env:TRAINFARE_TOKEN",
    show_default=True,
    help="Where the token is: env:NAME or file:PATH.",
)
def sync(folders: tuple[Path, ...], server: str | None, token: str) -> None:
    """Send what jobs wrote to these spool folders, as far as the server does not have it yet.

    It may be repeated and interrupted: an event counts once. Files stay where they are.
    """
    target = _Target(_address(server), _token(token))
    files = [path for folder in folders for path in _files(folder)]
    if not files:
        terminal.show("There are no events to send.")
        return
    rejected: list[str] = []
    for path in files:
        terminal.show(_line(path, _send_file(target, path, rejected)))
    for line in rejected[:SHOWN]:
        terminal.message(line)
    if len(rejected) > SHOWN:
        terminal.message(f"... and {len(rejected) - SHOWN:,} more")
    if rejected:
        what = f"the server rejected {terminal.count(len(rejected), 'event')}"
        raise TrainfareError("sync", what, "The others were received. The rejected ones are listed above.")


@dataclass
class _Counts:
    accepted: int = 0
    duplicates: int = 0
    rejected: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class _Target:
    address: SplitResult
    token: str | None

    @property
    def name(self) -> str:
        return f"{self.address.scheme}://{self.address.netloc}"

    def post(self, lines: list[bytes]) -> dict[str, Any]:
        """Send lines, and return what the server says of them; anything that is no receipt for all is an error."""
        headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip", "User-Agent": "trainfare-sync"}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        kind = http.client.HTTPSConnection if self.address.scheme == "https" else http.client.HTTPConnection
        connection = kind(self.address.hostname or "", self.address.port, timeout=TIMEOUT_SECONDS)
        try:
            path = self.address.path.rstrip("/") + EVENTS
            connection.request("POST", path, gzip.compress(b"\n".join(lines) + b"\n", 6), headers)
            response = connection.getresponse()
            return self._receipt(response.status, response.read(RESPONSE_BYTES), len(lines))
        except (OSError, http.client.HTTPException) as error:
            what = f"no usable response ({type(error).__name__})"
            raise UnreachableError(self.name, what, "Check the address, and that the server is running.") from error
        finally:
            connection.close()

    def _receipt(self, status: int, body: bytes, count: int) -> dict[str, Any]:
        try:
            found = json.loads(body)
            receipt = found if isinstance(found, dict) else {}
        except ValueError:
            receipt = {}
        if status == 200 and _accounted(receipt) == count:
            return receipt
        if status in (401, 403):
            do = str(receipt.get("detail") or "Create a token: trainfare token create NAME --scope events")
            raise UnreachableError(self.name, "the server does not accept this token", do)
        what = str(receipt.get("title") or "the response is not one of Trainfare's")
        raise UnreachableError(self.name, f"response {status}: {what}", "Run it again later. Nothing was lost.")


def _accounted(receipt: dict[str, Any]) -> int:
    try:
        return int(receipt["accepted"]) + int(receipt["duplicates"]) + len(receipt["rejected"])
    except (KeyError, TypeError, ValueError):
        return -1


def _send_file(target: _Target, path: Path, rejected: list[str]) -> _Counts:
    """Send the lines of a file after the offset that was sent before, and remember how far it got."""
    counts = _Counts()
    for lines, end in _batches(path, _sent(path)):
        receipt = target.post(lines)
        counts.accepted += int(receipt["accepted"])
        counts.duplicates += int(receipt["duplicates"])
        counts.rejected += receipt["rejected"]
        rejected += [f"{path.name}: {one.get('id', 'an event')}: {one.get('what')}" for one in receipt["rejected"]]
        _remember(path, end)
    return counts


def _batches(path: Path, offset: int) -> Iterator[tuple[list[bytes], int]]:
    """Yield complete lines and the offset after them. An incomplete last line is still being written."""
    with path.open("rb") as file:
        file.seek(offset)
        lines: list[bytes] = []
        size = 0
        for line in file:
            if not line.endswith(b"\n"):
                break
            if lines and (len(lines) >= BATCH_EVENTS or size + len(line) > BATCH_BYTES):
                yield lines, offset
                lines, size = [], 0
            offset += len(line)
            size += len(line)
            lines += [line.rstrip(b"\n")] if line.strip() else []
        if lines:
            yield lines, offset


def _sent(path: Path) -> int:
    """Return how many bytes of a file the server has, by what is next to it; nonsense there means none."""
    try:
        sent = int(path.with_name(f"{path.name}.sent").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0
    return sent if 0 <= sent <= path.stat().st_size else 0


def _remember(path: Path, offset: int) -> None:
    """Note how far a file was sent. Without it, its events are sent again, and count once."""
    note = path.with_name(f"{path.name}.sent")
    try:
        draft = note.with_name(f"{note.name}.new")
        draft.write_text(f"{offset}\n", encoding="ascii")
        draft.replace(note)
    except OSError:
        return


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise TrainfareError(str(folder), "there is no such folder", "Name the folder that jobs write events to.")
    return sorted(path for path in folder.glob("*.jsonl") if path.is_file() and not path.name.startswith("."))


def _address(server: str | None) -> SplitResult:
    if not server:
        raise TrainfareError("--server", "no server is given", "Set it, or the variable TRAINFARE_SERVER.")
    try:
        address = urlsplit(server)
        is_usable = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise TrainfareError("--server", "this is not the address of a server", "Write it as https://host:port.")
    return address


def _token(where: str) -> str | None:
    kind, _, name = where.partition(":")
    if kind == "env" and name:
        return os.environ.get(name) or None
    if kind == "file" and name:
        try:
            return Path(name).read_text(encoding="utf-8").strip() or None
        except (OSError, ValueError):
            raise TrainfareError("--token", "the file cannot be read", "Name a file that has the token.") from None
    do = "If this is the token itself, replace it: it is in the history of the shell now."
    raise TrainfareError("--token", "is not env:NAME or file:PATH", do)


def _line(path: Path, counts: _Counts) -> str:
    return f"{path.name}  accepted={counts.accepted} known={counts.duplicates} rejected={len(counts.rejected)}"
