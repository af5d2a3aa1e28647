"""Load Python values into a table of the embedded engine: many rows, in one pass."""

import json
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from trainfare.engine.duckdb import DuckDB, quoted


def load_rows(engine: DuckDB, into: str, columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Create the table `into` with these columns and rows; a column that a row lacks is null."""
    with tempfile.TemporaryDirectory(prefix="trainfare-rows-") as folder:
        lines = Path(folder) / "rows.json"
        with lines.open("w", encoding="utf-8") as file:
            for row in rows:
                values = {name: _plain(row.get(name)) for name in columns}
                file.write(json.dumps(values, ensure_ascii=False) + "\n")
        types = ", ".join(f"{quoted(name)}: {quoted(type_)}" for name, type_ in columns.items())
        engine.table(
            into,
            f"SELECT * FROM read_json({quoted(lines)}, format = 'newline_delimited', columns = {{{types}}}, "
            "maximum_object_size = 268435456)",
        )


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")
    return str(value) if isinstance(value, Decimal) else value
