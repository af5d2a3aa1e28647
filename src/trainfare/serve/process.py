"""The entry point of a server process."""

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

from trainfare.serve import logs
from trainfare.serve.app import create_app
from trainfare.serve.entry import Entry
from trainfare.settings.config import FILE_NAME, load

WORKSPACE = "TRAINFARE_WORKSPACE"
"""Set by `trainfare serve` for its processes."""
SECRET = "TRAINFARE_FORM_SECRET"
"""Set by `trainfare serve`, to a new value at each start."""
LOG = "TRAINFARE_LOG"
"""json or text; default: JSON unless stderr is a terminal."""


SWITCH_SECONDS = 0.001
"""How long a thread may keep Python's lock, so that work in threads delays health and other short responses little."""


def from_environment() -> Entry:
    """Create the service for the workspace that the environment names."""
    logs.to_stderr({"json": True, "text": False}.get(os.environ.get(LOG, "")))
    sys.setswitchinterval(SWITCH_SECONDS)
    _raise_file_limit()
    workspace = Path(os.environ[WORKSPACE])
    proxies = load(workspace / FILE_NAME).serve.proxies
    return Entry(create_app(workspace, os.environ.get(SECRET, "")), proxies)


def _raise_file_limit() -> None:
    """Allow as many connections as the system does; the usual limit is for programs that open few files."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
