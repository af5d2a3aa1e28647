"""The shares of a book as a file for other tools: CSV or Parquet, one row per share."""

from pathlib import Path

from trainfare import quoting
from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import TrainfareError
from trainfare.tables import LABELS, SHARES


def select(month: str, version: int) -> str:
    """Return a SELECT of every share with the labels of its job and the properties of its machine.

    A converted share also has the lowest and highest exchange rate of its book for that currency, their days and their
    source, because one share has parts of many lines. `export --focus` has the rate of each line.
    """
    rates = (
        "SELECT converted_from, currency, category, min(rate) AS rate_lowest, max(rate) AS rate_highest, "
        "min(rate_day) AS rate_first_day, max(rate_day) AS rate_last_day, "
        "string_agg(DISTINCT rate_source, '; ' ORDER BY rate_source) AS rate_source "
        "FROM conversions GROUP BY converted_from, currency, category"
    )
    labels = ", ".join(f"a.{name}" for name in (*LABELS, "labels"))
    columns = ", ".join(f"s.{name}" for name in SHARES.names)
    return (
        f"SELECT {quoted(month)} AS month, {version} AS version, {columns}, {labels}, m.pool, m.cluster, m.region, "
        "r.rate_lowest, r.rate_highest, r.rate_first_day, r.rate_last_day, r.rate_source "
        "FROM shares s LEFT JOIN attempts a ON a.job_id = s.job_id AND a.attempt = s.attempt "
        "LEFT JOIN machines m ON m.resource_id = s.resource_id "
        f"LEFT JOIN ({rates}) r "
        "ON r.converted_from = s.converted_from AND r.currency = s.currency AND r.category = s.category "
        "ORDER BY s.payer_kind, s.payer, s.day, s.machine_id, s.category, s.rule, s.reason, s.source, s.account"
    )


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
