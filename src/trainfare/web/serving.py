"""What a server process starts from."""

import os
from pathlib import Path

from litestar import Litestar

from trainfare.web import logs
from trainfare.web.app import create_app

WORKSPACE = "TRAINFARE_WORKSPACE"
"""Set by `trainfare serve` for its processes."""


SECRET = "TRAINFARE_FORM_SECRET"
"""Set by `trainfare serve`, anew at each start."""
LOG = "TRAINFARE_LOG"
"""json or text; without it JSON where stderr is no terminal."""


def from_environment() -> Litestar:
    """The service of the workspace that the environment names."""
    logs.to_stderr({"json": True, "text": False}.get(os.environ.get(LOG, "")))
    return create_app(Path(os.environ[WORKSPACE]), os.environ.get(SECRET, ""))
