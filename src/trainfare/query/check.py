"""The findings of a book, compared with their limits, and the state of each: new, known, accepted or gone."""

import json
from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from trainfare.engine.duckdb import quoted
from trainfare.errors import IncompleteError
from trainfare.period import Month
from trainfare.query.open_books import OpenBooks
from trainfare.store.records import Acceptance

FLOORS = ("owner_coverage",)
"""Limits that a percentage must reach; the others must not be exceeded."""
NEW, KNOWN, ACCEPTED, GONE = "new", "known", "accepted", "gone"
SHOWN_EVIDENCE = 5


@dataclass(frozen=True)
class Finding:
    """One finding of a book.

    `percent` is the part of the total at stake; problems in the records have none, and no limit.
    """

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
    fixes: str
    evidence: list[str]
    accepted_until: date | None = None
    accepted_reason: str = ""

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class FindingStates:
    """What the catalog stores about findings: the codes each book showed, and acceptances."""

    seen: Mapping[tuple[Month, int], Set[str]]
    accepted: Mapping[str, Acceptance]

    def state(self, code: str, book: tuple[Month, int]) -> str:
        """Return the state of a finding: accepted while an acceptance is valid; known if an earlier book showed it.

        Else new.
        """
        if code in self.accepted:
            return ACCEPTED
        return KNOWN if any(code in codes for other, codes in self.seen.items() if other < book) else NEW

    def gone(self, codes: Set[str], book: tuple[Month, int]) -> list[str]:
        """Return the codes that the previous book showed and this one does not."""
        before = max((other for other in self.seen if other < book), default=None)
        return sorted(self.seen[before] - codes) if before else []


def check(opened: OpenBooks, limits: Mapping[str, Decimal], states: FindingStates) -> list[Finding]:
    """Return the findings of one book: those beyond their limits first, then by cost at stake.

    Then those that are gone.
    """
    require_checkable(opened)
    book = (opened.books[0].month, opened.books[0].version)
    found = [_with_state(one, states, book) for one in (*_failure_modes(opened, limits), *_record_problems(opened))]
    found.sort(key=lambda one: (not one.breached, one.limit is None, -abs(one.at_stake or Decimal(0)), one.code))
    return [*found, *(_gone(code) for code in states.gone({one.code for one in found}, book))]


def require_checkable(opened: OpenBooks) -> None:
    """Reject books that were built before failure modes were checked."""
    if "failure_modes" not in opened.books[0].files:
        what = f"version {opened.books[0].version} was built before books were checked for failure modes"
        raise IncompleteError(f"book {opened.books[0].month}", what, "Rebuild it with: trainfare build")


def evidence(opened: OpenBooks, code: str) -> list[dict[str, Any]]:
    """Return every stored row of evidence for a finding, the largest amount first."""
    rows = opened.engine.records(
        f"SELECT evidence, at_stake, currency FROM failure_mode_evidence WHERE code = {quoted(code)} "
        "ORDER BY abs(at_stake) DESC NULLS LAST, evidence"
    )
    if rows:
        return rows
    listed = opened.engine.rows(f"SELECT evidence, at_stake, currency FROM findings WHERE code = {quoted(code)}")
    return [
        {"evidence": one, "at_stake": None, "currency": currency}
        for items, _, currency in listed
        for one in json.loads(items)
    ]


def _failure_modes(opened: OpenBooks, limits: Mapping[str, Decimal]) -> list[Finding]:
    """Return the failure modes that occur, whether or not they are beyond their limits."""
    found = []
    for row in opened.engine.records("SELECT * FROM failure_modes WHERE at_stake <> 0 OR at_stake IS NULL"):
        limit = limits[row["limit_name"]]
        percent = _percent(row["at_stake"], row["total"])
        if row["limit_name"] in FLOORS:
            percent = None if percent is None else 100 - percent
            breached = percent is not None and percent < limit
        else:
            breached = percent is None or percent > limit
        shown = [one["evidence"] for one in evidence(opened, row["code"]) if one["currency"] == row["currency"]]
        names = ("code", "what", "rows", "at_stake", "currency", "cause", "remedy", "command", "fixes")
        found.append(
            Finding(
                **{name: row[name] for name in names},
                state="",
                breached=breached,
                percent=percent,
                limit=limit,
                evidence=shown[:SHOWN_EVIDENCE],
            )
        )
    return found


def _percent(part: Decimal | None, total: Decimal | None) -> Decimal | None:
    if part is None or not total:
        return None
    return (100 * part / total).quantize(Decimal("0.01"), ROUND_HALF_UP)


def _record_problems(opened: OpenBooks) -> list[Finding]:
    """Return the problems in the records themselves, which have no limit."""
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
            fixes="",
            evidence=json.loads(row["evidence"]),
        )
        for row in opened.engine.records("SELECT * FROM findings")
    ]


def _with_state(finding: Finding, states: FindingStates, book: tuple[Month, int]) -> Finding:
    state = states.state(finding.code, book)
    accepted = states.accepted.get(finding.code)
    values = asdict(finding) | {"state": state, "breached": finding.breached and state != ACCEPTED}
    if accepted:
        values |= {"accepted_until": accepted.until, "accepted_reason": accepted.reason}
    return Finding(**values)


def _gone(code: str) -> Finding:
    return Finding(code, GONE, False, "an earlier book showed it", 0, None, None, None, None, "", "", "", "", [])
