"""Convert charges in other currencies into one currency, line by line, at the rate of their day."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import parquet, quoted
from trainfare.errors import Problems
from trainfare.files.locations import Location
from trainfare.normalize.facts import PACKAGE
from trainfare.period import Month
from trainfare.sources.ledgers.tables import RATES
from trainfare.tables import BASES, CHARGES, PRICES, RATE

SHOWN_PROBLEMS = 25
_UNITS = "100000000000000"
"""A rate has 14 decimal places."""


@dataclass(frozen=True)
class Conversion:
    """Converts everything into the currency `to`; a rate is valid for its day and the `days` days after it.

    Without `to` amounts keep their currency. Late charges of a closed month are converted into the currency of its
    book, `closed`, at the rates which that book used. Rates that were looked up are in table `rates_used` of the
    reader, and the charges that need them in `rates_needed`.
    """

    reader: DuckDB
    to: str | None
    days: int
    closed: Mapping[Month, str | None]

    def convert(self, charges: str, adjusts: Month | None = None) -> str:
        """Return a SELECT of the charges with other currencies converted; a charge without a rate stays as it is.

        Each line is multiplied by its rate and rounded once, to 10^-12, half away from zero: a reversal converts to
        exactly the negative of what it reverses.
        """
        to = self.closed.get(adjusts, self.to) if adjusts else self.to
        if to is None or not self._look_up(charges, to, _adjusts(adjusts)):
            return charges
        sql = {name: f"c.{name}" for name in CHARGES.names}
        sql |= {basis: f"CASE WHEN r.rate IS NULL THEN c.{basis} ELSE {_at_rate(f'c.{basis}')} END" for basis in BASES}
        sql |= {f"original_{basis}": f"CASE WHEN r.rate IS NOT NULL THEN c.{basis} END" for basis in BASES}
        sql |= {
            "currency": f"CASE WHEN r.rate IS NULL THEN c.currency ELSE {quoted(to)} END",
            "converted_from": "CASE WHEN r.rate IS NOT NULL THEN c.currency END",
            **{name: f"r.{name}" for name in ("rate", "rate_day", "rate_source")},
        }
        columns = ", ".join(f"{sql[name]} AS {name}" for name in CHARGES.names)
        return (
            f"SELECT {columns} FROM ({charges}) c LEFT JOIN rates_used r ON r.from_currency = c.currency "
            f"AND r.day = CAST(c.period_start AS DATE) AND r.adjusts IS NOT DISTINCT FROM {_adjusts(adjusts)}"
        )

    def _look_up(self, charges: str, to: str, adjusts: str) -> bool:
        """Look up the rates of these charges, first in the closed book of their month; return whether any is needed."""
        self.reader.table(
            "needed_here",
            f"SELECT DISTINCT {adjusts} AS adjusts, billing_month(billing_start, billing_end) AS month, currency, "
            f"CAST(period_start AS DATE) AS day FROM ({charges}) WHERE currency <> {quoted(to)}",
        )
        if not self.reader.row("SELECT count(*) FROM needed_here")[0]:
            return False
        self.reader.add("rates_needed", "SELECT * FROM needed_here")
        self._find("SELECT DISTINCT adjusts, currency, day FROM needed_here", to, "found_rates")
        same = "b.adjusts IS NOT DISTINCT FROM f.adjusts AND b.from_currency = f.from_currency AND b.day = f.day"
        columns = ", ".join(
            f"CASE WHEN b.rate IS NULL THEN f.{name} ELSE b.{name} END" for name in ("rate", "rate_day", "rate_source")
        )
        self.reader.add(
            "rates_used",
            f"SELECT f.adjusts, f.from_currency, {quoted(to)}, f.day, {columns} FROM found_rates f "
            f"LEFT JOIN booked_rates b ON {same} WHERE NOT EXISTS (SELECT 1 FROM rates_used b WHERE {same})",
        )
        return True

    def _find(self, needed: str, to: str, into: str) -> None:
        self.reader.table("needed_rates", needed)
        self.reader.step(PACKAGE, "found_rates", into, {"to": quoted(to), "days": str(self.days)})

    def convert_prices(self, lists: Sequence[str], first: date, last: date) -> list[str]:
        """Return the price lists with other currencies converted for each day from `first` to `last`.

        A price without a rate is left out.
        """
        if self.to is None or not lists:
            return list(lists)
        listed = f"({' UNION ALL '.join(lists)})"
        span = f"DATE '{first}', DATE '{last + timedelta(days=1)}'"
        days = f"SELECT CAST(unnest(range({span}, INTERVAL 1 DAY)) AS DATE) AS day"
        needed = f"SELECT DISTINCT CAST(NULL AS DATE) AS adjusts, p.currency, d.day FROM {listed} p, ({days}) d"
        self._find(f"{needed} WHERE p.currency <> {quoted(self.to)}", self.to, "price_rates")
        sql = {name: f"p.{name}" for name in PRICES.names}
        sql |= {
            "price": _at_rate("p.price"),
            "currency": quoted(self.to),
            "valid_from": "greatest(p.valid_from, CAST(r.day AS TIMESTAMP))",
            "valid_to": "least(p.valid_to, CAST(r.day AS TIMESTAMP) + INTERVAL 1 DAY)",
            "source": "coalesce(p.source, 'price list') || ', ' || p.currency || ' at ' || CAST(r.rate AS VARCHAR) "
            "|| ' of ' || CAST(r.rate_day AS VARCHAR) || ', ' || r.rate_source",
        }
        columns = ", ".join(f"{sql[name]} AS {name}" for name in PRICES.names)
        during = (
            "p.valid_from < CAST(r.day AS TIMESTAMP) + INTERVAL 1 DAY "
            "AND coalesce(p.valid_to > CAST(r.day AS TIMESTAMP), true)"
        )
        return [
            f"SELECT * FROM {listed} WHERE currency = {quoted(self.to)}",
            f"SELECT {columns} FROM {listed} p "
            f"JOIN price_rates r ON r.from_currency = p.currency AND r.rate IS NOT NULL AND {during}",
        ]

    def require_all(self, month: Month) -> None:
        """Raise an error that lists every missing rate, if charges of the month have none."""
        missing = self.reader.rows(
            "WITH days AS (SELECT DISTINCT from_currency, to_currency, day "
            f"FROM ({_month_rates(month)}) WHERE rate IS NULL), "
            "spans AS (SELECT *, day - CAST(row_number() OVER (PARTITION BY from_currency, to_currency ORDER BY day) "
            "AS INTEGER) AS span FROM days) SELECT from_currency, to_currency, min(day), max(day) FROM spans "
            "GROUP BY from_currency, to_currency, span ORDER BY ALL"
        )
        problems = Problems()
        for currency, to, first, last in missing:
            when = f"{first}" if first == last else f"{first} to {last}"
            problems.add(
                f"book {month}",
                f"no exchange rate from {currency} to {to} for {when} or the {self.days} days before",
                "Add these days to a rate table, or let rates be valid for longer: [convert] days.",
            )
        problems.raise_if_any()

    def fingerprint(self, month: Month) -> str:
        """Return a fingerprint of the rates that convert the month's charges; empty if there are none."""
        return "|".join(str(row) for row in self.reader.rows(f"{_month_rates(month)} ORDER BY ALL"))


def prepare(
    reader: DuckDB,
    to: str | None,
    days: int,
    tables: Mapping[Location, str],
    closed: Mapping[Month, str | None],
    booked: Iterable[tuple[Month, Month, Location]],
) -> Conversion:
    """Prepare the conversion into `to` with these rate tables, each the SELECT of a file with its line numbers.

    `booked` lists the conversions of closed books: the month they are for, the month of the book, and the file. Two
    different rates for the same day and currencies are an error.
    """
    numbered = [f"SELECT {number} AS file, * FROM ({select})" for number, select in enumerate(tables.values())]
    nulls = ", ".join(f"CAST(NULL AS {column.type}) AS {column.name}" for column in RATES.columns)
    reader.table("rate_rows", " UNION ALL ".join(numbered or [f"SELECT 0 AS file, {nulls} WHERE false"]))
    _require_one_rate(reader, list(tables))
    rate_columns = f"rate {RATE}, rate_day DATE, rate_source VARCHAR"
    reader.values(
        "rates_used", f"adjusts DATE, from_currency VARCHAR, to_currency VARCHAR, day DATE, {rate_columns}", []
    )
    reader.values("rates_needed", "adjusts DATE, month DATE, currency VARCHAR, day DATE", [])
    reader.values("booked_rates", f"adjusts DATE, from_currency VARCHAR, day DATE, {rate_columns}", [])
    for month, book_month, path in booked:
        reader.add(
            "booked_rates",
            f"SELECT DISTINCT {_adjusts(month)}, converted_from, day, rate, rate_day, rate_source FROM {parquet(path)} "
            f"WHERE coalesce(adjusts, '{book_month}') = '{month}' EXCEPT SELECT * FROM booked_rates",
        )
    return Conversion(reader, to, days, closed)


def _month_rates(month: Month) -> str:
    return (
        "SELECT DISTINCT u.from_currency, u.to_currency, u.day, u.rate, u.rate_day, u.rate_source "
        "FROM rates_needed w JOIN rates_used u ON u.adjusts IS NOT DISTINCT FROM w.adjusts "
        "AND u.from_currency = w.currency AND u.day = w.day "
        f"WHERE w.month = DATE '{month}-01'"
    )


def _require_one_rate(reader: DuckDB, files: Sequence[Location]) -> None:
    conflicts = reader.rows(
        "SELECT CAST(day AS DATE), from_currency, to_currency, list(DISTINCT rate ORDER BY rate), "
        "arg_max(file, (file, line)), arg_max(line, (file, line)) FROM rate_rows "
        "GROUP BY CAST(day AS DATE), from_currency, to_currency "
        f"HAVING count(DISTINCT rate) > 1 ORDER BY ALL LIMIT {SHOWN_PROBLEMS}"
    )
    problems = Problems()
    for day, from_, to, rates, file, line in conflicts:
        amounts = " and ".join(f"{rate.normalize():f}" for rate in rates)
        problems.add(
            f"{files[file]}:{line}",
            f"the rate from {from_} to {to} on {day} is given as {amounts}",
            "Keep only the correct one.",
        )
    problems.raise_if_any()


def _at_rate(amount: str) -> str:
    """Return SQL for an amount times r.rate, in units of 10^-12, rounded half away from zero.

    The product is computed in two parts, so that neither exceeds 38 digits.
    """
    units, rate = f"abs(in_units({amount}))", f"CAST(r.rate * {_UNITS} AS HUGEINT)"
    product = f"{units} // {_UNITS} * {rate} + ({units} % {_UNITS} * {rate} + 50000000000000) // {_UNITS}"
    return f"as_money(CASE WHEN {amount} < 0 THEN -({product}) ELSE {product} END)"


def _adjusts(month: Month | None) -> str:
    return f"DATE '{month}-01'" if month else "CAST(NULL AS DATE)"
