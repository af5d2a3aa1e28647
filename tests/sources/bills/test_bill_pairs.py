"""The readers of bills: each pair below this folder shows one quirk of a format, stated in the file name.

`NAME.csv`, `.json` or `.jsonl` is a provider's file and `NAME.expected.csv` its charges, in the columns of interest.
A folder is named after the format that must be recognized.
"""

import csv
import json
from decimal import Decimal
from pathlib import Path

import pytest

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.sources import counts
from trainfare.sources.head import measure
from trainfare.sources.protocol import ArchivedFile, ReadOptions
from trainfare.sources.registry import by_name, recognize
from trainfare.tables import CHARGES

FOLDER = Path(__file__).parent
GOOD = sorted(
    path for path in FOLDER.glob("*/*.*") if path.suffix in (".csv", ".json", ".jsonl") and "." not in path.stem
)
FEWEST = 24


def charges_of(path: Path, folder: Path, columns: list[str]) -> list[tuple[str, ...]]:
    """Read a file as a build does, with every row counted again, and return its charges as text."""
    engine, problems, copy = DuckDB(), Problems(), folder / "copy.parquet"
    source, head = recognize(engine, path)
    content = measure(head)
    rows = source.archive(engine, head, copy, ReadOptions(), problems)
    problems.raise_if_any()
    counts.require_all_read(engine, head, content, (copy, rows), problems)
    problems.raise_if_any()
    select = by_name(source.NAME).rows(engine, ArchivedFile(copy, 1, "bill"), ReadOptions(), CHARGES)
    return [tuple(map(shown, row)) for row in engine.rows(f"SELECT {', '.join(columns)} FROM ({select}) ORDER BY line")]


def shown(value: object) -> str:
    if isinstance(value, Decimal):
        return format(value.normalize(), "f") if value else "0"
    return "" if value is None else str(value)


def alike(cells: tuple[str, ...]) -> tuple[str, ...]:
    """JSON with its keys in order."""
    return tuple(json.dumps(json.loads(cell), sort_keys=True) if cell.startswith("{") else cell for cell in cells)


def test_there_are_enough_pairs() -> None:
    assert len(GOOD) >= FEWEST
    assert {path.name for path in FOLDER.glob("*/*.expected.csv")} == {f"{path.stem}.expected.csv" for path in GOOD}


@pytest.mark.parametrize("path", GOOD, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_bill_gives_its_charges(path: Path, tmp_path: Path) -> None:
    with path.with_name(f"{path.stem}.expected.csv").open(newline="", encoding="utf-8") as opened:
        columns, *expected = csv.reader(opened)
    assert path.parent.name == recognize(DuckDB(), path)[0].NAME
    assert [alike(row) for row in charges_of(path, tmp_path, columns)] == [alike(tuple(row)) for row in expected]
