"""Pieces of SQL text, in the dialect that steps are written in."""

import glob
from collections.abc import Mapping
from functools import cache
from importlib import resources

from trainfare.places import Place


def step_text(package: str, name: str, fragments: Mapping[str, str] | None = None) -> str:
    """The text of a step, with each `{{name}}` replaced by its SQL fragment."""
    text = _file(package, name)
    for key, value in (fragments or {}).items():
        text = text.replace("{{" + key + "}}", value)
    return text


@cache
def _file(package: str, name: str) -> str:
    return resources.files(package).joinpath(f"{name}.sql").read_text(encoding="utf-8")


def no_rows_of(package: str, name: str, fragments: Mapping[str, str] | None = None) -> str:
    """A SELECT with the columns of a step and none of its rows, for a month in which nothing calls for it."""
    return f"SELECT * FROM (\n{step_text(package, name, fragments)}\n) LIMIT 0"


def parquet(*paths: Place) -> str:
    """Parquet as a FROM item: exactly these files or folders of files, and only the columns they hold."""
    listed = ", ".join(quoted(glob.escape(str(path)) + ("/*.parquet" if path.is_dir() else "")) for path in paths)
    return f"read_parquet([{listed}], hive_partitioning = false)"


def quoted(value: object) -> str:
    """A value as an SQL string literal."""
    return "'" + str(value).replace("'", "''") + "'"
