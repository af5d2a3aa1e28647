"""What every step of a build needs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from trainfare.engine.duckdb import DuckDB
from trainfare.engine.protocol import Engine
from trainfare.settings.config import Config

Progress = Callable[[str], None]


def no_progress(message: str) -> None:
    """Discard progress messages."""


@dataclass(frozen=True)
class BuildContext:
    """The engine, the settings, and the time up to which ledgers are amortized and hours estimated."""

    engine: Engine
    config: Config
    as_of: datetime
    progress: Progress = no_progress
    notice: Progress = no_progress
    """Takes sentences about what no book shows."""

    @property
    def reader(self) -> DuckDB:
        """The embedded engine, which reads files."""
        return self.engine.reader
