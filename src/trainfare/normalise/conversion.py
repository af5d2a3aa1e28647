"""Charges of other currencies become charges in one, line by line, by the rate of their day."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from trainfare.engine.duckdb import DuckDB
from trainfare.engine.sql import parquet, quoted
from trainfare.errors import Faults
from trainfare.ledger_tables import RATES
from trainfare.normalise.facts import PACKAGE
from trainfare.period import Month
from trainfare.places import Place
from trainfare.tables import BASES, CHARGES, PRICES, RATE

SHOWN_FAULTS = 25
_UNITS = "100000000000000"
"""A rate has 14 digits after the point."""


@dataclass(frozen=True)
class Conversion:
    """Everything into the currency `to`; a rate counts for its day and `days` days after it. Without `to` everything stays as it came.

    What is booked of a closed month later goes into the currency its book is in, `closed`, by the rates it used. Rates that were
    looked up are in table `rates_used` of the reader, and who wanted them in `rates_wanted`.
    """

    reader: DuckDB
    to: str | None
    days: int
    closed: Mapping[Month, str | None]

    def of(self, charges: str, adjusts: Month | None = None) -> str:
        """A SELECT of charges with those of other currencies converted; a charge without a rate is left as it came, and noted.

        Each line is multiplied by its rate and rounded once, to 10^-12, half away from zero: what is taken back is what was given.
        """
        to = self.closed.get(adjusts, self.to) if adjusts else self.to
        if to is None or not self._look_up(charges, to, _adjusts(adjusts)):
            return charges
        told = {name: f"c.{name}" for name in CHARGES.names}
        told |= {basis: f"CASE WHEN r.rate IS NULL THEN c.{basis} ELSE {_at_rate(f'c.{basis}')} END" for basis in BASES}
        told |= {f"original_{basis}": f"CASE WHEN r.rate IS NOT NULL THEN c.{basis} END" for basis in BASES}
        told |= {
            "currency": f"CASE WHEN r.rate IS NULL THEN c.currency ELSE {quoted(to)} END",
            "converted_from": "CASE WHEN r.rate IS NOT NULL THEN c.currency END",
            **{name: f"r.{name}" for name in ("rate", "rate_day", "rate_source")},
        }
        columns = ", ".join(f"{told[name]} AS {name}" for name in CHARGES.names)
        return (
            f"SELECT {columns} FROM ({charges}) c LEFT JOIN rates_used r ON r.from_currency = c.currency "
            f"AND r.day = CAST(c.period_start AS DATE) AND r.adjusts IS NOT DISTINCT FROM {_adjusts(adjusts)}"
        )

    def _look_up(self, charges: str, to: str, adjusts: str) -> bool:
        """Find the rates these charges need, first in what the closed book of their month used; whether they need any."""
        self.reader.table(
            "wanted_here",
            f"SELECT DISTINCT {adjusts} AS adjusts, billing_month(billing_start, billing_end) AS month, currency, "
            f"CAST(period_start AS DATE) AS day FROM ({charges}) WHERE currency <> {quoted(to)}",
        )
        if not self.reader.row("SELECT count(*) FROM wanted_here")[0]:
            return False
        self.reader.add("rates_wanted", "SELECT * FROM wanted_here")
        self._find("SELECT DISTINCT adjusts, currency, day FROM wanted_here", to, "found_rates")
        same = "b.adjusts IS NOT DISTINCT FROM f.adjusts AND b.from_currency = f.from_currency AND b.day = f.day"
        kept = ", ".join(
            f"CASE WHEN b.rate IS NULL THEN f.{name} ELSE b.{name} END" for name in ("rate", "rate_day", "rate_source")
        )
        self.reader.add(
            "rates_used",
            f"SELECT f.adjusts, f.from_currency, {quoted(to)}, f.day, {kept} FROM found_rates f "
            f"LEFT JOIN booked_rates b ON {same} WHERE NOT EXISTS (SELECT 1 FROM rates_used b WHERE {same})",
        )
        return True

    def _find(self, wanted: str, to: str, into: str) -> None:
        self.reader.table("wanted_rates", wanted)
        self.reader.step(PACKAGE, "found_rates", into, {"to": quoted(to), "days": str(self.days)})

    def prices(self, lists: Sequence[str], first: date, last: date) -> list[str]:
        """Price lists with prices of other currencies as of each day from `first` to `last`; one without a rate is left out."""
        if self.to is None or not lists:
            return list(lists)
        listed = f"({' UNION ALL '.join(lists)})"
        days = f"SELECT CAST(unnest(range(DATE '{first}', DATE '{last + timedelta(days=1)}', INTERVAL 1 DAY)) AS DATE) AS day"
        wanted = f"SELECT DISTINCT CAST(NULL AS DATE) AS adjusts, p.currency, d.day FROM {listed} p, ({days}) d"
        self._find(f"{wanted} WHERE p.currency <> {quoted(self.to)}", self.to, "price_rates")
        told = {name: f"p.{name}" for name in PRICES.names}
        told |= {
            "price": _at_rate("p.price"),
            "currency": quoted(self.to),
            "valid_from": "greatest(p.valid_from, CAST(r.day AS TIMESTAMP))",
            "valid_to": "least(p.valid_to, CAST(r.day AS TIMESTAMP) + INTERVAL 1 DAY)",
            "source": "coalesce(p.source, 'price list') || ', ' || p.currency || ' at ' || CAST(r.rate AS VARCHAR) || ' of ' "
            "|| CAST(r.rate_day AS VARCHAR) || ', ' || r.rate_source",
        }
        columns = ", ".join(f"{told[name]} AS {name}" for name in PRICES.names)
        during = "p.valid_from < CAST(r.day AS TIMESTAMP) + INTERVAL 1 DAY AND coalesce(p.valid_to > CAST(r.day AS TIMESTAMP), true)"
        return [
            f"SELECT * FROM {listed} WHERE currency = {quoted(self.to)}",
            f"SELECT {columns} FROM {listed} p JOIN price_rates r ON r.from_currency = p.currency AND r.rate IS NOT NULL AND {during}",
        ]

    def require(self, month: Month) -> None:
        """Refuse a month with charges for which there is no rate, with all that is missing."""
        missing = self.reader.rows(
            f"WITH days AS (SELECT DISTINCT from_currency, to_currency, day FROM ({_rates_of(month)}) WHERE rate IS NULL), "
            "spans AS (SELECT *, day - CAST(row_number() OVER (PARTITION BY from_currency, to_currency ORDER BY day) AS INTEGER) AS span "
            "FROM days) SELECT from_currency, to_currency, min(day), max(day) FROM spans "
            "GROUP BY from_currency, to_currency, span ORDER BY ALL"
        )
        faults = Faults()
        for currency, to, first, last in missing:
            when = f"{first}" if first == last else f"{first} to {last}"
            faults.add(
                f"book {month}",
                f"there is no rate from {currency} to {to} for {when}, nor of the {self.days} days before",
                "Add these days to a rate table, or let a rate count for longer: [convert] days.",
            )
        faults.refuse()

    def digest(self, month: Month) -> str:
        """The rates that the month's charges are converted by, as a fingerprint; empty where none are."""
        return "|".join(str(row) for row in self.reader.rows(f"{_rates_of(month)} ORDER BY ALL"))


def prepare(
    reader: DuckDB,
    to: str | None,
    days: int,
    tables: Mapping[Place, str],
    closed: Mapping[Month, str | None],
    booked: Iterable[tuple[Month, Month, Place]],
) -> Conversion:
    """Make ready to convert into `to` by these rate tables, each the SELECT of a file with its lines.

    `booked` has the conversions of closed books: the month they speak of, the book's month, and the file. A day and two currencies
    with two rates are refused.
    """
    numbered = [f"SELECT {number} AS file, * FROM ({select})" for number, select in enumerate(tables.values())]
    nothing = ", ".join(f"CAST(NULL AS {column.type}) AS {column.name}" for column in RATES.columns)
    reader.table("rate_rows", " UNION ALL ".join(numbered or [f"SELECT 0 AS file, {nothing} WHERE false"]))
    _require_one_each(reader, list(tables))
    found = f"rate {RATE}, rate_day DATE, rate_source VARCHAR"
    reader.values("rates_used", f"adjusts DATE, from_currency VARCHAR, to_currency VARCHAR, day DATE, {found}", [])
    reader.values("rates_wanted", "adjusts DATE, month DATE, currency VARCHAR, day DATE", [])
    reader.values("booked_rates", f"adjusts DATE, from_currency VARCHAR, day DATE, {found}", [])
    for month, of, path in booked:
        reader.add(
            "booked_rates",
            f"SELECT DISTINCT {_adjusts(month)}, converted_from, day, rate, rate_day, rate_source FROM {parquet(path)} "
            f"WHERE coalesce(adjusts, '{of}') = '{month}' EXCEPT SELECT * FROM booked_rates",
        )
    return Conversion(reader, to, days, closed)


def _rates_of(month: Month) -> str:
    return (
        "SELECT DISTINCT u.from_currency, u.to_currency, u.day, u.rate, u.rate_day, u.rate_source FROM rates_wanted w JOIN rates_used u "
        "ON u.adjusts IS NOT DISTINCT FROM w.adjusts AND u.from_currency = w.currency AND u.day = w.day "
        f"WHERE w.month = DATE '{month}-01'"
    )


def _require_one_each(reader: DuckDB, files: Sequence[Place]) -> None:
    twice = reader.rows(
        "SELECT CAST(day AS DATE), from_currency, to_currency, list(DISTINCT rate ORDER BY rate), arg_max(file, (file, line)), "
        "arg_max(line, (file, line)) FROM rate_rows GROUP BY CAST(day AS DATE), from_currency, to_currency "
        f"HAVING count(DISTINCT rate) > 1 ORDER BY ALL LIMIT {SHOWN_FAULTS}"
    )
    faults = Faults()
    for day, from_, to, rates, file, line in twice:
        told = " and ".join(f"{rate.normalize():f}" for rate in rates)
        faults.add(
            f"{files[file]}:{line}",
            f"the rate from {from_} to {to} of {day} is told as {told}",
            "Keep one of them: which one counts is not for us to guess.",
        )
    faults.refuse()


def _at_rate(amount: str) -> str:
    """SQL for an amount times r.rate, in whole 10^-12, rounded half away from zero. Cut in two so that no product outgrows 38 digits."""
    units, rate = f"abs(in_units({amount}))", f"CAST(r.rate * {_UNITS} AS HUGEINT)"
    product = f"{units} // {_UNITS} * {rate} + ({units} % {_UNITS} * {rate} + 50000000000000) // {_UNITS}"
    return f"as_money(CASE WHEN {amount} < 0 THEN -({product}) ELSE {product} END)"


def _adjusts(month: Month | None) -> str:
    return f"DATE '{month}-01'" if month else "CAST(NULL AS DATE)"
