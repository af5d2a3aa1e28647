"""A part of a job's explanation: some days, or the hours that its charges are for, and some kinds of cost."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from trainfare.errors import IncompleteError, TrainfareError
from trainfare.query.explain import Explanation, Rows
from trainfare.query.selection import Filters

KEYS = ("category", "rule")
"""What an explanation can be filtered by."""
DAY = timedelta(days=1)
SHOWN = 3


def restricted_to(found: Explanation, start: datetime, end: datetime) -> Explanation:
    """Return the parts of an explanation from one time up to another, in whole days or by the hour.

    Within a day, only what is charged for these hours is known. A charge for longer has no hours, which is an error.
    """
    if start.time() == end.time() == datetime.min.time():
        return _only(found, [start <= _midnight(one) < end for one in found.pots], _in_days(found.lines, start, end))
    touched = [one for one in found.pots if _touches(one, start, end)]
    if longer := [one for one in touched if not _within(one, start, end)]:
        raise _longer_error(longer, found.currency)
    return _only(found, [one in touched for one in found.pots], [_within(one, start, end) for one in found.lines])


def filtered(found: Explanation, filters: Filters) -> Explanation:
    """Return the parts of an explanation with these categories or rules."""
    for key, _ in filters:
        if key not in KEYS:
            do = f"Use {' or '.join(KEYS)}."
            raise TrainfareError("--where", f"the cost of a job cannot be selected by '{key}'", do)
    matches = [
        [all(row[key] in values for key, values in filters) for row in rows] for rows in (found.pots, found.lines)
    ]
    return _only(found, *matches)


def merged(several: Sequence[Explanation]) -> Explanation:
    """Return the explanations of one job in several books as one."""
    first = several[0]
    pots, lines = ([row for one in several for row in getattr(one, name)] for name in ("pots", "lines"))
    rules = _rules(pots, [rule for one in several for rule in one.rules])
    explained = sum((one.explained for one in several), Decimal(0))
    stored = sum((one.stored for one in several), Decimal(0))
    return replace(first, rules=rules, pots=pots, lines=lines, explained=explained, stored=stored)


def _only(found: Explanation, of_pots: Sequence[bool], of_lines: Sequence[bool]) -> Explanation:
    pots = [row for row, is_chosen in zip(found.pots, of_pots, strict=True) if is_chosen]
    lines = [row for row, is_chosen in zip(found.lines, of_lines, strict=True) if is_chosen]
    total = sum((pot["part"] for pot in pots), Decimal(0))
    return replace(found, rules=_rules(pots, found.rules), pots=pots, lines=lines, explained=total, stored=total)


def _rules(pots: Rows, rules: Rows) -> Rows:
    """Add up pots by rule, basis and category, highest cost first. A pot that is split over days counts once."""
    among = {(rule["rule"], rule["weighed_by"], rule["category"]): rule["among"] for rule in rules}
    found: dict[tuple[Any, ...], tuple[set[Any], Decimal]] = {}
    for number, pot in enumerate(pots):
        key = (pot["rule"], pot["weighed_by"], pot["category"])
        known, cost = found.get(key, (set(), Decimal(0)))
        own = (pot["scope"], pot["period_start"], pot["period_end"]) if pot["period_start"] else number
        found[key] = (known | {own}, cost + pot["part"])
    rows = [
        {"rule": rule, "among": among[rule, by, category], "weighed_by": by, "category": category}
        | {"pots": len(known), "cost": cost}
        for (rule, by, category), (known, cost) in found.items()
    ]
    return sorted(rows, key=lambda row: (-abs(row["cost"]), row["rule"], row["category"]))


def _midnight(row: dict[str, Any]) -> datetime:
    return datetime(row["day"].year, row["day"].month, row["day"].day, tzinfo=UTC)


def _in_days(rows: Rows, start: datetime, end: datetime) -> list[bool]:
    return [start <= _midnight(row) < end for row in rows]


def _period(row: dict[str, Any]) -> tuple[datetime, datetime]:
    """Return what a part is charged for. Cost that is split by spend is for the month, and known by day."""
    if row["period_start"] is None:
        return _midnight(row), _midnight(row) + DAY
    return row["period_start"].replace(tzinfo=UTC), row["period_end"].replace(tzinfo=UTC)


def _within(row: dict[str, Any], start: datetime, end: datetime) -> bool:
    first, last = _period(row)
    return row["period_start"] is not None and start <= first and last <= end


def _touches(row: dict[str, Any], start: datetime, end: datetime) -> bool:
    """Return whether a part may be for any of these hours: its period and its day both overlap them."""
    first, last = _period(row)
    return first < end and start < last and _midnight(row) < end and start < _midnight(row) + DAY


def _longer_error(longer: Rows, currency: str) -> IncompleteError:
    by_category: dict[str, Decimal] = {}
    for row in longer:
        by_category[row["category"]] = by_category.get(row["category"], Decimal(0)) + row["part"]
    ordered = sorted(by_category.items(), key=lambda one: -abs(one[1]))
    listed = ", ".join(f"{name} {cost:,.2f} {currency}" for name, cost in ordered[:SHOWN])
    do = "Ask for whole days, or by the full hour for what is charged by the hour, such as --where category=compute."
    return IncompleteError("--from", f"some cost is charged for longer than these hours: {listed}", do)
