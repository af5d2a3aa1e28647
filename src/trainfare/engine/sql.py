"""SQL text in the dialect that steps are written in: templates, file names and literals."""

import glob
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from trainfare.files.locations import Location

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


class TemplateError(ValueError):
    """A step and the fragments passed to it do not match."""


def step_text(package: str, name: str, fragments: Mapping[str, str] | None = None) -> str:
    """Return the text of a step with each `{{name}}` replaced by its SQL fragment.

    Every placeholder needs a fragment and every fragment a placeholder; anything else is a TemplateError. A fragment is
    inserted as it is: a placeholder inside it is not replaced.
    """
    given = fragments or {}
    names = placeholders(package, name)
    if unfilled := sorted(names - given.keys()):
        raise TemplateError(f"{package}/{name}.sql: no fragment for {', '.join(unfilled)}")
    if unused := sorted(given.keys() - names):
        raise TemplateError(f"{package}/{name}.sql: does not use the fragment {', '.join(unused)}")
    return _PLACEHOLDER.sub(lambda found: given[found[1]], _file(package, name))


def pick(package: str, name: str, pool: Mapping[str, str]) -> dict[str, str]:
    """Return the fragments that a step uses out of a pool that several steps share."""
    return {key: pool[key] for key in placeholders(package, name) if key in pool}


@cache
def placeholders(package: str, name: str) -> frozenset[str]:
    """Return the names that a step's text leaves open."""
    return frozenset(_PLACEHOLDER.findall(_file(package, name)))


@cache
def _file(package: str, name: str) -> str:
    return resources.files(package).joinpath(f"{name}.sql").read_text(encoding="utf-8")


def no_rows_of(package: str, name: str, fragments: Mapping[str, str] | None = None) -> str:
    """Return a SELECT with the columns of a step and none of its rows, for a month that does not need it."""
    return f"SELECT * FROM (\n{step_text(package, name, fragments)}\n) LIMIT 0"


def parquet(*locations: Location) -> str:
    """Return a FROM item with exactly these Parquet files or folders of files, and only the columns they hold."""
    listed = ", ".join(quoted(glob.escape(str(one)) + ("/*.parquet" if one.is_dir() else "")) for one in locations)
    return f"read_parquet([{listed}], hive_partitioning = false)"


def quoted(value: object) -> str:
    """Return a value as an SQL string literal."""
    return "'" + str(value).replace("'", "''") + "'"
