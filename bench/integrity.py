"""What integrity costs: counting a file independently of its reader, and verifying the files of a book.

    python bench/integrity.py [--rows 1000000]

Prints the time of each beside the time of the work it protects, and their ratio.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import Problems
from trainfare.sources import counts, registry
from trainfare.sources.head import Unit, measure
from trainfare.sources.protocol import ReadOptions

COLUMNS = {
    "BilledCost": "(range % 977) / 100.0",
    "EffectiveCost": "(range % 977) / 100.0",
    "BillingCurrency": "'USD'",
    "ChargePeriodStart": "strftime(TIMESTAMP '2026-10-01' + to_hours((range % 700)::INT), '%Y-%m-%dT%H:%M:%SZ')",
    "ChargePeriodEnd": "strftime(TIMESTAMP '2026-10-01' + to_hours((range % 700 + 1)::INT), '%Y-%m-%dT%H:%M:%SZ')",
    "ServiceCategory": "'Compute'",
    "ResourceId": "'arn:aws:ec2:eu-west-1:123456789012:instance/i-' || lpad((range % 5000)::VARCHAR, 17, '0')",
    "Tags": """'{"team": "team-' || range % 40 || '", "project": "project-' || range % 300 || '"}'""",
    "ChargeDescription": "'On-demand hour of p5.48xlarge' || {break}",
}


def seconds(work: Callable[[], object]) -> float:
    """Return the shortest of three runs."""
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return min(taken)


def write_bill(path: Path, rows: int, has_line_breaks: bool) -> None:
    """Write a FOCUS bill; in every thousandth row a line breaks within quotes, if wanted."""
    line_break = "CASE WHEN range % 1000 = 0 THEN chr(10) || 'second line' ELSE '' END" if has_line_breaks else "''"
    columns = ", ".join(f"{sql.replace('{break}', line_break)} AS {name}" for name, sql in COLUMNS.items())
    duckdb.connect().execute(f"COPY (SELECT {columns} FROM range({rows})) TO '{path}' (FORMAT csv, HEADER)")


def report_counting(folder: Path, name: str, rows: int, has_line_breaks: bool) -> None:
    path, archive = folder / "bill.csv", folder / "archive.parquet"
    write_bill(path, rows, has_line_breaks)
    engine, problems = DuckDB(), Problems()
    source, head = registry.recognize(engine, path)
    reading = seconds(lambda: source.archive(engine, head, archive, ReadOptions(), problems))
    problems.raise_if_any()
    content = measure(head)
    hashing = seconds(lambda: measure(head))
    counting = seconds(lambda: counts.require_all_read(engine, head, content, (archive, rows), problems))
    problems.raise_if_any()
    assert (head.tally.unit, head.tally.rows) == (Unit.RECORDS, rows)
    print(
        f"{name:24} {path.stat().st_size / 1e6:8.0f} MB  read {reading:6.2f} s  hash and count lines {hashing:5.2f} s "
        f"({hashing / reading:5.1%})  count rows {counting:5.2f} s ({counting / reading:5.1%})"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        report_counting(Path(scratch), "bill", chosen.rows, has_line_breaks=False)
        report_counting(Path(scratch), "bill with line breaks", chosen.rows, has_line_breaks=True)
