"""What a server process starts from."""

import os
from pathlib import Path

from litestar import Litestar

from trainfare.web.app import create_app

WORKSPACE = "TRAINFARE_WORKSPACE"
"""Set by `trainfare serve` for its processes."""


def from_environment() -> Litestar:
    """The service of the workspace that the environment names."""
    return create_app(Path(os.environ[WORKSPACE]))
