"""What is wrong in a book, measured against the limits, and where each finding is in its life."""

import json
from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from trainfare.engine.duckdb import quoted
from trainfare.errors import IncompleteError
from trainfare.period import Month
from trainfare.report.opened import Opened
from trainfare.store.records import Acceptance

FLOORS = ("owner_coverage",)
"""Limits that must be reached, where the others must not be passed."""
NEW, KNOWN, ACCEPTED, GONE = "new", "known", "accepted", "gone"
SHOWN_EVIDENCE = 5


@dataclass(frozen=True)
class Finding:
    """One finding of a book. `percent` is what is at stake of `whole`; data faults have none, and no limit."""

    code: str
    state: str
    breached: bool
    what: str
    rows: int
    at_stake: Decimal | None
    currency: str | None
    percent: Decimal | None
    limit: Decimal | None
    cause: str
    remedy: str
    command: str
    repairs: str
    evidence: list[str]
    accepted_until: date | None = None
    accepted_reason: str = ""

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Life:
    """What the catalog remembers about findings."""

    seen: Mapping[tuple[Month, int], Set[str]]
    accepted: Mapping[str, Acceptance]

    def state(self, code: str, book: tuple[Month, int]) -> str:
        """Accepted while somebody's word on it holds; known if an earlier book showed it; else new."""
        if code in self.accepted:
            return ACCEPTED
        return KNOWN if any(code in codes for other, codes in self.seen.items() if other < book) else NEW

    def gone(self, codes: Set[str], book: tuple[Month, int]) -> list[str]:
        """What the last book before this one showed and this one does not."""
        before = max((other for other in self.seen if other < book), default=None)
        return sorted(self.seen[before] - codes) if before else []


def check(opened: Opened, limits: Mapping[str, Decimal], life: Life) -> list[Finding]:
    """The findings of one book: those beyond their limits first, then by money; at the end what is gone."""
    require_checkable(opened)
    book = (opened.books[0].month, opened.books[0].version)
    found = [*_failures(opened, limits), *_faults(opened)]
    told = [_living(one, life, book) for one in found]
    told.sort(key=lambda one: (not one.breached, one.limit is None, -abs(one.at_stake or Decimal(0)), one.code))
    return [*told, *(_gone(code) for code in life.gone({one.code for one in told}, book))]


def require_checkable(opened: Opened) -> None:
    """Books of before failure modes were looked for say nothing about them."""
    if "failures" not in opened.books[0].files:
        what = f"version {opened.books[0].version} was built before there was anything to check in a book"
        raise IncompleteError(f"book {opened.books[0].month}", what, "Build it again: trainfare build")


def evidence(opened: Opened, code: str) -> list[dict[str, Any]]:
    """Every kept row that shows a finding, those with the most money first."""
    rows = opened.engine.records(
        f"SELECT evidence, at_stake, currency FROM failure_rows WHERE code = {quoted(code)} "
        "ORDER BY abs(at_stake) DESC NULLS LAST, evidence"
    )
    if rows:
        return rows
    listed = opened.engine.rows(f"SELECT evidence, at_stake, currency FROM findings WHERE code = {quoted(code)}")
    return [
        {"evidence": one, "at_stake": None, "currency": currency}
        for told, _, currency in listed
        for one in json.loads(told)
    ]


def _failures(opened: Opened, limits: Mapping[str, Decimal]) -> list[Finding]:
    """The failure modes that show, whether or not they are beyond their limits."""
    found = []
    for row in opened.engine.records("SELECT * FROM failures WHERE at_stake <> 0 OR at_stake IS NULL"):
        limit = limits[row["limit_name"]]
        percent = _percent(row["at_stake"], row["whole"])
        if row["limit_name"] in FLOORS:
            percent = None if percent is None else 100 - percent
            breached = percent is not None and percent < limit
        else:
            breached = percent is None or percent > limit
        shown = [one["evidence"] for one in evidence(opened, row["code"]) if one["currency"] == row["currency"]]
        same = {name: row[name] for name in ("code", "what", "rows", "at_stake", "currency", "cause", "remedy")}
        said = {name: row[name] for name in ("command", "repairs")}
        found.append(
            Finding(
                **same,
                **said,
                state="",
                breached=breached,
                percent=percent,
                limit=limit,
                evidence=shown[:SHOWN_EVIDENCE],
            )
        )
    return found


def _percent(part: Decimal | None, whole: Decimal | None) -> Decimal | None:
    if part is None or not whole:
        return None
    return (100 * part / whole).quantize(Decimal("0.01"), ROUND_HALF_UP)


def _faults(opened: Opened) -> list[Finding]:
    """Faults of the records themselves: told, but no limit is set to them."""
    return [
        Finding(
            code=row["code"],
            state="",
            breached=False,
            what=row["what"],
            rows=row["rows"],
            at_stake=row["at_stake"],
            currency=row["currency"],
            percent=None,
            limit=None,
            cause="",
            remedy=row["remedy"],
            command=f"trainfare check {row['code']}",
            repairs="",
            evidence=json.loads(row["evidence"]),
        )
        for row in opened.engine.records("SELECT * FROM findings")
    ]


def _living(finding: Finding, life: Life, book: tuple[Month, int]) -> Finding:
    state = life.state(finding.code, book)
    accepted = life.accepted.get(finding.code)
    told = asdict(finding) | {"state": state, "breached": finding.breached and state != ACCEPTED}
    if accepted:
        told |= {"accepted_until": accepted.until, "accepted_reason": accepted.reason}
    return Finding(**told)


def _gone(code: str) -> Finding:
    return Finding(code, GONE, False, "an earlier book showed it", 0, None, None, None, None, "", "", "", "", [])
