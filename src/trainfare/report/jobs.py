"""The jobs of the opened books, a page at a time."""

from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import quoted, step_text
from trainfare.report import cost, estimated, keys, sites
from trainfare.report.cost import PACKAGE, Question
from trainfare.report.groups import Groups
from trainfare.report.opened import Opened
from trainfare.report.slice import HELD, among
from trainfare.tables import LABELS

SORTS = (
    *("cost", "rate", "job", "state", "attempts", "preemptions", *LABELS),
    *("started", "ended", "machines", "wall_seconds", "gpu_seconds"),
)
MOST = 10_000


@dataclass(frozen=True)
class Listing:
    """Which jobs, in which order: `named` is a part of the job's id, or of its owner's name."""

    sort: str = "cost"
    descending: bool = True
    named: str = ""
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True)
class Page:
    """One page of jobs; `count` and `cost` are of all that were asked for."""

    rows: list[dict[str, Any]]
    count: int
    cost: Decimal


def jobs(opened: Opened, question: Question, listing: Listing) -> Page:
    """The jobs that held or paid anything in what is asked about. Jobs that sort alike come by their id."""
    part = f"LIMIT {min(listing.limit, MOST)} OFFSET {listing.offset}"
    if _in_digest(opened, question):
        chosen = _of_digest(opened, question, listing)
        count, paid = opened.engine.row(f"SELECT count(*), sum(j.cost) FROM {chosen}")
        return Page(opened.engine.records(_from_digest(chosen, listing, part)), count, paid or Decimal(0))
    found = opened.engine.records(_from_shares(opened, question, listing, part))
    count, paid = (found[0]["jobs"], found[0]["jobs_cost"]) if found else (0, Decimal(0))
    return Page([_without_sums(record) for record in found], count, paid or Decimal(0))


def every(opened: Opened, question: Question, listing: Listing) -> str:
    """A SELECT of all jobs that are asked for, in their order, however many there are."""
    if _in_digest(opened, question):
        return _from_digest(_of_digest(opened, question, listing), listing, "")
    return f"SELECT * EXCLUDE (jobs, jobs_cost) FROM ({_from_shares(opened, question, listing, '')})"


def _from_shares(opened: Opened, question: Question, listing: Listing, part: str) -> str:
    named = quoted(f"%{listing.named.replace('%', '').lower()}%")
    return step_text(
        PACKAGE,
        "jobs",
        {
            "cost": cost.select(opened, question, ["job"]),
            "labels": ", ".join(f"max({name}) AS {name}" for name in LABELS),
            "label_names": ", ".join(f"l.{name}" for name in LABELS),
            "placements": question.slice.placements,
            "expected": _expected(opened, question),
            "where": f"(lower(c.k0) LIKE {named} OR lower(l.owner) LIKE {named})" if listing.named else "true",
            "order": f"{listing.sort} {'DESC' if listing.descending else 'ASC'} NULLS LAST, job",
            "part": part,
        },
    )


def _expected(opened: Opened, question: Question) -> str:
    """A SELECT of what of each job's cost is estimated. Shares are many, so they are read only where any is."""
    found = f"SELECT s.job_id, sum(s.{question.basis}) AS estimated FROM {question.slice.shares} s "
    return f"{found}WHERE {'s.origin' if estimated.is_any(opened) else 'NULL'} = 'estimate' GROUP BY s.job_id"


def _without_sums(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in ("jobs", "jobs_cost")}


def _in_digest(opened: Opened, question: Question) -> bool:
    """Whether the digest of a book knows these jobs: chosen by labels, name, and state or sites. It knows hours of no single currency."""
    known = (*LABELS, "job", *(keys.OF_SITE if _by_site(question) and sites.are_known(opened) else ("state",)))
    is_known = all(key in known or key.startswith("label:") for key, _ in question.only)
    is_kept = opened.by_digest and len(opened.books) == 1 and question.slice.held == HELD
    return is_kept and is_known and opened.has_all_hours_in(question.currency)


def _by_site(question: Question) -> bool:
    return any(key in keys.OF_SITE for key, _ in question.only)


def _of_digest(opened: Opened, question: Question, listing: Listing) -> str:
    told = f"SELECT j.*, {_priced(question)} FROM digest_jobs j"
    if _by_site(question):
        told = _on_sites(opened, question)
    elif not opened.has_only(question.days):
        told = _within(opened, question)
    return f"({told}) j WHERE {_chosen(question, listing)}"


def _within(opened: Opened, question: Question) -> str:
    """A SELECT of the jobs of some days."""
    asked = Groups(question.basis, replace(question.slice, only=()), ())
    told = asked.of_digest(opened, ()) or {}
    seconds = [(day - date(1970, 1, 1)).days * 86400 for day in question.days or ()]
    given = {"priced": _priced(question), "time": cost.PRICED[question.per], "that_money": question.slice.money}
    given |= {"estimated": str(estimated.is_any(opened)).lower()}
    given |= dict(zip(("first_second", "last_second"), map(str, seconds), strict=True))
    return step_text(PACKAGE, "digest_window_jobs", told | asked.window(told) | given)


def _on_sites(opened: Opened, question: Question) -> str:
    """A SELECT of the jobs on some sites, with what they cost and held there."""
    slice_ = replace(question.slice, only=tuple(one for one in question.only if one[0] != "job"))
    told = Groups(question.basis, slice_, ()).of_digest(opened, (*LABELS, *keys.OF_SITE)) or {}
    told |= {"priced": cost.PRICED[question.per], "job_rate": cost.job_rate(question)}
    return (
        "SELECT n.job_id, n.attempts, n.state, n.preemptions, n.currency, j.* "
        f"FROM ({sites.jobs(opened, slice_, (), told)}) j JOIN digest_jobs n ON n.job = j.job AND n.currency = {told['currency']}"
    )


def _from_digest(chosen: str, listing: Listing, part: str) -> str:
    column = {
        "job": "j.job_id",
        "started": "j.starts",
        "ended": "j.ends",
        "wall_seconds": "j.wall",
        "gpu_seconds": "CASE WHEN NOT j.gpu_unknown THEN j.gpu END",
    }
    by_label = listing.sort in LABELS
    sort = f"a.{listing.sort}" if by_label else column.get(listing.sort, f"j.{listing.sort}")
    order = f"{sort} {'DESC' if listing.descending else 'ASC'} NULLS LAST, j.job_id"
    return (
        f"SELECT j.job_id AS job, j.state, j.attempts, j.preemptions, {', '.join(f'a.{name}' for name in LABELS)}, "
        "make_timestamp(j.starts * 1000000) AS started, make_timestamp(j.ends * 1000000) AS ended, j.machines, "
        "j.wall AS wall_seconds, CASE WHEN NOT j.gpu_unknown THEN j.gpu * 0.000001 END AS gpu_seconds, j.cost, j.estimated, j.rate "
        f"FROM (SELECT j.* FROM {chosen}{'' if by_label else f' ORDER BY {order} {part}'}) j "
        'JOIN digest_sets a ON a.book = j.book AND a."set" = j."set" '
        f"ORDER BY {order}{f' {part}' if by_label else ''}"
    )


def _priced(question: Question) -> str:
    part = "infra_" if question.scope == "infra" else ""
    return f"j.{part}{question.basis} AS cost, j.estimated_{question.basis} AS estimated, {cost.job_rate(question)} AS rate"


def _chosen(question: Question, listing: Listing) -> str:
    told = [f"j.currency = {quoted(question.currency)}", "(j.wall IS NOT NULL OR j.cost IS NOT NULL)"]
    for key, values in question.only:
        if key in ("state", "job"):
            told.append(among("j.state" if key == "state" else "j.job_id", values))
        elif key not in keys.OF_SITE:
            told.append(_of_set(among(str(keys.of_hold(key)), values)))
    if listing.named:
        part = quoted(f"%{listing.named.replace('%', '').lower()}%")
        told.append(f"(lower(j.job_id) LIKE {part} OR {_of_set(f'lower(a.owner) LIKE {part}')})")
    return " AND ".join(told)


def _of_set(where: str) -> str:
    return f'j."set" IN (SELECT a."set" FROM digest_sets a WHERE {where})'
