"""Sends spooled events to a server, at least once each: gzip, JSON lines, in order, with growing pauses after failures.

Whatever the server does (unreachable, slow, garbage), nothing is lost and nobody waits: only this module's thread does.
An event counts as received only if the response says so in JSON, so that a login page does not swallow events.
"""

from __future__ import annotations

import gzip
import http.client
import json
import os
import socket
import threading
import time
from urllib.parse import urlsplit

from trainfare_sdk.settings import Settings, warn_once
from trainfare_sdk.spool import Spool

PATH = "/api/v1/events"
BATCH_EVENTS = 512
BATCH_BYTES = 262_144
RESPONSE_BYTES = 1_048_576
SOCKET_SECONDS = 5.0
REQUEST_SECONDS = 30.0
"""A request that takes longer is cut off, even if bytes keep trickling in."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 300.0
FOREIGN = " that is not Trainfare's"
REFUSED = (400, 401, 403, 404, 405, 410)
"""Responses after which trying again soon is of no use."""


class Sender:
    """Sends the files of one spool. `.sent` next to a file holds the number of bytes that the server has received."""

    def __init__(self, spool: Spool, settings: Settings) -> None:
        self._spool, self._settings = spool, settings
        self._address = urlsplit(settings.server or "")
        self._file, self._offset = 0, 0
        self._events = BATCH_EVENTS
        self._pause, self._not_before = 0.0, 0.0
        self._connection: http.client.HTTPConnection | None = None
        self._began = 0.0

    def send_all(self) -> bool:
        """Send what is in the spool, and return whether everything was received. Returns at once during a pause."""
        while time.monotonic() >= self._not_before:
            batch, end = self._next_batch()
            if not batch:
                if self._file + 1 >= len(self._spool.paths):
                    return True
                self._file, self._offset = self._file + 1, 0
            elif self._post(batch):
                self._offset, self._pause, self._events = end, 0.0, BATCH_EVENTS
                self._remember()
        return False

    def cut_off(self) -> None:
        """Interrupt a request that takes too long. Called from another thread."""
        connection = self._connection
        if connection is not None and time.monotonic() - self._began > REQUEST_SECONDS:
            try:
                if connection.sock is not None:
                    connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _next_batch(self) -> tuple[bytes, int]:
        """Return whole lines that were not received yet, and the offset after them."""
        if self._file >= len(self._spool.paths):
            return b"", self._offset
        try:
            with open(self._spool.paths[self._file], "rb") as file:
                file.seek(self._offset)
                lines = file.read(BATCH_BYTES).split(b"\n")[:-1][: self._events]
        except OSError:
            return b"", self._offset
        batch = b"".join(line + b"\n" for line in lines)
        return batch, self._offset + len(batch)

    def _post(self, batch: bytes) -> bool:
        """Send a batch and return whether it was received. Any failure starts a pause."""
        try:
            status, body, wait = self._request(batch)
        except Exception as error:
            return self._fail(f"no usable response ({type(error).__name__})")
        count = batch.count(b"\n")
        if status in (200, 202) and _received(body) == count:
            return True
        if status == 413 and count > 1:
            self._events = max(count // 2, 1)
            return False
        pause = LONGEST_PAUSE_SECONDS if status in REFUSED else wait
        return self._fail(f"response {status}{'' if status >= 300 else FOREIGN}", pause)

    def _request(self, batch: bytes) -> tuple[int, bytes, float | None]:
        token = self._settings.read_token()
        headers = {
            "Content-Type": "application/x-ndjson",
            "Content-Encoding": "gzip",
            "User-Agent": "trainfare-sdk",
            **({"Authorization": "Bearer " + token} if token else {}),
        }
        is_encrypted = self._address.scheme == "https"
        make = http.client.HTTPSConnection if is_encrypted else http.client.HTTPConnection
        connection = make(self._address.hostname or "", self._address.port, timeout=SOCKET_SECONDS)
        self._began, self._connection = time.monotonic(), connection
        try:
            path = self._address.path.rstrip("/") + PATH
            connection.request("POST", path, gzip.compress(batch, 6), headers)
            response = connection.getresponse()
            return response.status, response.read(RESPONSE_BYTES), _seconds(response.getheader("Retry-After"))
        finally:
            self._connection = None
            connection.close()

    def _fail(self, what: str, pause: float | None = None) -> bool:
        warn_once("server", f"events stay in {self._spool.folder} for now: {what} from {self._address.netloc}")
        self._pause = min(max(self._pause * 2, FIRST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
        self._not_before = time.monotonic() + min(max(self._pause, pause or 0.0), LONGEST_PAUSE_SECONDS)
        return False

    def _remember(self) -> None:
        path = self._spool.paths[self._file] + ".sent"
        try:
            with open(path + ".new", "w", encoding="ascii") as file:
                file.write(f"{self._offset}\n")
            os.replace(path + ".new", path)
        except OSError:
            pass  # events are then sent again one day, and count once


def _received(body: bytes) -> int:
    """Return how many events a response accounts for; -1 if it is not one of Trainfare's."""
    try:
        answer = json.loads(body.decode("utf-8"))
        return int(answer["accepted"]) + int(answer["duplicates"]) + len(answer["rejected"])
    except (ValueError, TypeError, KeyError):
        return -1


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isascii() and text.isdigit() else None


def run(sender: Sender, stopped: threading.Event, seconds: float) -> None:
    """Send every `seconds` until `stopped`, then once more."""
    while not stopped.wait(seconds):
        _send(sender)
    _send(sender)


def _send(sender: Sender) -> None:
    try:
        sender.send_all()
    except Exception as error:  # a defect of ours must not print a traceback into somebody's training log
        warn_once("sender", f"sending events failed ({type(error).__name__}); they stay in the spool")
