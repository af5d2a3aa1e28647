"""The shares of a book as a file for other tools: CSV or Parquet, one row per share."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from trainfare import quoting
from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import TrainfareError
from trainfare.query import keys
from trainfare.query.keys import CHARGE_KEYS
from trainfare.query.selection import PAYER_KINDS, Filters, has_value, in_days
from trainfare.query.stored import select_of
from trainfare.store.records import BookFiles
from trainfare.tables import LABELS, SHARES

COLUMNS = {
    "job": "job_id",
    "machine": "machine_id",
    "attempt": "CASE WHEN payer_kind = 'attempt' THEN payer END",
    "month": "strftime(day, '%Y-%m')",
    "day": "day",
    **{name: name for name in (*LABELS, *CHARGE_KEYS, "pool", "cluster", "region")},
}
"""The keys that an export can be filtered by, and the column of each. Other labels are in the column `labels`."""


def select(books: Sequence[tuple[BookFiles, int]], days: tuple[date, date] | None = None, filters: Filters = ()) -> str:
    """Return a SELECT of every share of these books, which have versions, as far as days and filters select it.

    A share has the labels of its job, or the label that pays it, and the properties of its machine. A converted share
    also has the lowest and highest exchange rate of its book for that currency, their days and their source, because
    one share has parts of many lines. `export --focus` has the rate of each line.
    """
    where = " AND ".join(["true", *in_days(days, "day"), *(_matches(key, values) for key, values in filters)])
    union = " UNION ALL ".join(_of_book(book, version) for book, version in books)
    order = "payer_kind, payer, day, machine_id, category, rule, reason, source, account"
    return f"SELECT * FROM ({union}) WHERE {where} ORDER BY month, {order}"


def _of_book(book: BookFiles, version: int) -> str:
    rates = (
        "SELECT converted_from, currency, category, min(rate) AS rate_lowest, max(rate) AS rate_highest, "
        "min(rate_day) AS rate_first_day, max(rate_day) AS rate_last_day, "
        "string_agg(DISTINCT rate_source, '; ' ORDER BY rate_source) AS rate_source "
        f"FROM ({select_of(book, 'conversions')}) GROUP BY converted_from, currency, category"
    )
    labels = ", ".join(f"{keys.share_sql(name)} AS {name}" for name in LABELS)
    columns = ", ".join(f"s.{name}" for name in SHARES.names)
    one_each = "QUALIFY row_number() OVER (PARTITION BY resource_id) = 1"
    return (
        f"SELECT {quoted(str(book.month))} AS month, {version} AS version, {columns}, {labels}, a.labels, m.pool, "
        "m.cluster, m.region, r.rate_lowest, r.rate_highest, r.rate_first_day, r.rate_last_day, r.rate_source "
        f"FROM ({select_of(book, 'shares')}) s "
        f"LEFT JOIN ({select_of(book, 'book_attempts')}) a ON a.job_id = s.job_id AND a.attempt = s.attempt "
        f"LEFT JOIN (SELECT * FROM ({select_of(book, 'book_machines')}) {one_each}) m ON m.resource_id = s.resource_id "
        f"LEFT JOIN ({rates}) r "
        "ON r.converted_from = s.converted_from AND r.currency = s.currency AND r.category = s.category"
    )


def _matches(key: str, values: tuple[str, ...]) -> str:
    if key == "payer":
        return f"payer_kind IN ({', '.join(PAYER_KINDS[value] for value in values)})"
    if key.startswith("label:"):
        return has_value(keys.share_sql(key).replace("a.labels", "labels"), values)
    if key not in COLUMNS:
        do = f"Use one of {', '.join((*COLUMNS, 'payer'))}, or a label."
        raise TrainfareError("--where", f"an export has no column for '{key}'", do)
    return has_value(COLUMNS[key], values)


OPTIONS = {
    ".csv": "FORMAT csv, HEADER true",
    ".gz": "FORMAT csv, HEADER true, COMPRESSION gzip",
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
}


def copy(engine: DuckDB, select_: str, path: Path) -> None:
    """Write the result of `select_` as CSV or Parquet, by the file extension. Text in CSV is as `quoting` describes."""
    if path.suffix != ".parquet":
        select_ = _quoted_text(engine, select_)
    engine.run(f"COPY ({select_}) TO {quoted(path)} ({OPTIONS[path.suffix]})")


def _quoted_text(engine: DuckDB, select_: str) -> str:
    """Return a SELECT of the same rows whose text nothing executes. The order of the rows is kept."""
    engine.run(quoting.CSV_MACROS)
    columns = []
    for name, type_ in engine.columns(f"({select_})").items():
        column, title = _identifier(name), _identifier(quoting.csv_text(name))
        is_text = type_ in ("VARCHAR", "JSON")
        columns.append(f"csv_text(CAST({column} AS VARCHAR)) AS {title}" if is_text else f"{column} AS {title}")
    return f"SELECT {', '.join(columns)} FROM ({select_})"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def write(engine: DuckDB, select_: str, path: Path) -> int:
    """Write the result of `select_` completely or not at all; return the number of rows."""
    if path.suffix not in OPTIONS:
        raise TrainfareError(str(path), "unsupported file extension", "Use .csv, .csv.gz or .parquet.")
    draft = path.with_name(f".draft.{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        copy(engine, select_, draft)
        draft.replace(path)
    except OSError as error:
        raise TrainfareError(
            str(path), f"cannot be written ({error.strerror})", "Choose a file that you may write."
        ) from None
    finally:
        draft.unlink(missing_ok=True)
    reader = "read_parquet" if path.suffix == ".parquet" else "read_csv"
    arguments = "" if path.suffix == ".parquet" else ", all_varchar = true, header = true"
    rows: int = engine.row(f"SELECT count(*) FROM {reader}({quoted(path)}{arguments})")[0]
    return rows
