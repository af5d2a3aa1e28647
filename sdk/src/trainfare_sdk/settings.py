"""Settings: arguments first, then environment variables. Nothing raises: bad values are replaced, with a warning."""

from __future__ import annotations

import os
import sys

ONLINE, OFFLINE, DISABLED = "online", "offline", "disabled"
MODES = (ONLINE, OFFLINE, DISABLED)
DEFAULT_SPOOL = "trainfare-events"

_warned: set[str] = set()


def warn_once(key: str, text: str) -> None:
    """Print one line per kind of problem. Training never fails because its standard error is closed."""
    if key in _warned:
        return
    _warned.add(key)
    try:
        sys.stderr.write("trainfare: " + text + "\n")
    except Exception:
        pass


class Settings:
    """Where events go and how often: a folder on this machine first, then a server if there is one."""

    def __init__(
        self,
        mode: str | None = None,
        spool: str | None = None,
        server: str | None = None,
        token: str = "env:TRAINFARE_TOKEN",
        step_seconds: float = 10.0,
        heartbeat_seconds: float = 30.0,
        flush_seconds: float = 2.0,
    ) -> None:
        """`token` names where the token is: `env:NAME` or `file:PATH`, never the token itself.

        Steps closer together than `step_seconds` become one event. At the end of a job, sending goes on for at most
        `flush_seconds`; what is not sent by then stays in the spool.
        """
        self.server = server or os.environ.get("TRAINFARE_SERVER") or None
        self.mode = _mode(mode or os.environ.get("TRAINFARE_MODE"), self.server)
        self.spool = os.path.abspath(spool or os.environ.get("TRAINFARE_SPOOL") or DEFAULT_SPOOL)
        self.token = token
        self.step_seconds = step_seconds
        self.heartbeat_seconds = max(heartbeat_seconds, 0.05)
        self.flush_seconds = flush_seconds

    def read_token(self) -> str | None:
        """Return the token, or None if there is none to be found."""
        kind, _, name = self.token.partition(":")
        if kind == "env":
            return os.environ.get(name) or None
        if kind == "file":
            try:
                with open(name, encoding="utf-8") as file:
                    return file.read().strip() or None
            except (OSError, ValueError):
                warn_once("token", "the token file cannot be read, so events are sent without a token")
                return None
        warn_once("token", "the token must be given as env:NAME or file:PATH; events are sent without a token")
        return None


def _mode(given: str | None, server: str | None) -> str:
    """Return the mode; by default events are sent only if there is a server to send them to."""
    mode = given or (ONLINE if server else OFFLINE)
    if mode not in MODES:
        warn_once(
            "mode", "the mode {!r} is none of {}; events are only written to the spool".format(mode, ", ".join(MODES))
        )
        return OFFLINE
    if mode == ONLINE and not server:
        warn_once("server", "no server is set (TRAINFARE_SERVER), so events are only written to the spool")
        return OFFLINE
    return mode
