"""The jobs of the open books, a page at a time."""

from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import quoted, step_text
from trainfare.query import cost, estimates, keys, machine_groups
from trainfare.query.cost import PACKAGE, Question
from trainfare.query.groups import DigestFragments, Groups
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import BOOK_PLACEMENTS, has_value
from trainfare.tables import LABELS

SORTS = (
    *("cost", "rate", "job", "state", "attempts", "preemptions", *LABELS),
    *("started", "ended", "machines", "wall_seconds", "gpu_seconds"),
)
MAX_JOBS = 10_000


@dataclass(frozen=True)
class Listing:
    """Which jobs, in which order: `search` is a part of the job id or of the owner's name."""

    sort: str = "cost"
    descending: bool = True
    search: str = ""
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True)
class Page:
    """One page of jobs; `count` and `cost` cover all jobs of the question."""

    rows: list[dict[str, Any]]
    count: int
    cost: Decimal


def jobs(opened: OpenBooks, question: Question, listing: Listing) -> Page:
    """Return the jobs that held or paid for anything in the selection. Ties are sorted by job id."""
    limit = f"LIMIT {min(listing.limit, MAX_JOBS)} OFFSET {listing.offset}"
    if _in_digest(opened, question):
        chosen = _digest_jobs(opened, question, listing)
        count, paid = opened.engine.row(f"SELECT count(*), sum(j.cost) FROM {chosen}")
        return Page(opened.engine.records(_from_digest(chosen, listing, limit)), count, paid or Decimal(0))
    found = opened.engine.records(_from_shares(opened, question, listing, limit))
    count, paid = (found[0]["jobs"], found[0]["jobs_cost"]) if found else (0, Decimal(0))
    return Page([_without_sums(record) for record in found], count, paid or Decimal(0))


def select_all(opened: OpenBooks, question: Question, listing: Listing) -> str:
    """Return a SELECT of all jobs of the question, sorted, without a limit."""
    if _in_digest(opened, question):
        return _from_digest(_digest_jobs(opened, question, listing), listing, "")
    return f"SELECT * EXCLUDE (jobs, jobs_cost) FROM ({_from_shares(opened, question, listing, '')})"


def _from_shares(opened: OpenBooks, question: Question, listing: Listing, limit: str) -> str:
    pattern = quoted(f"%{listing.search.replace('%', '').lower()}%")
    return step_text(
        PACKAGE,
        "jobs",
        {
            "cost": cost.select(opened, question, ["job"]),
            "labels": ", ".join(f"max({name}) AS {name}" for name in LABELS),
            "label_names": ", ".join(f"l.{name}" for name in LABELS),
            "placements": question.selection.placements,
            "estimated": _estimated(opened, question),
            "where": f"(lower(c.k0) LIKE {pattern} OR lower(l.owner) LIKE {pattern})" if listing.search else "true",
            "order": f"{listing.sort} {'DESC' if listing.descending else 'ASC'} NULLS LAST, job",
            "limit": limit,
        },
    )


def _estimated(opened: OpenBooks, question: Question) -> str:
    """Return a SELECT of the estimated cost of each job. Shares are many, so they are read only if any is estimated."""
    origin = "s.origin" if estimates.has_estimates(opened) else "NULL"
    return (
        f"SELECT s.job_id, sum(s.{question.basis}) AS estimated FROM {question.selection.shares} s "
        f"WHERE {origin} = 'estimate' GROUP BY s.job_id"
    )


def _without_sums(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in ("jobs", "jobs_cost")}


def _in_digest(opened: OpenBooks, question: Question) -> bool:
    """Return whether the digest of a book has these jobs: filtered by labels, job id, and state or machine groups.

    Its hours are not by currency.
    """
    by_machine_group = _by_machine_group(question) and machine_groups.are_available(opened)
    known = (*LABELS, "job", *(keys.MACHINE_GROUP_KEYS if by_machine_group else ("state",)))
    is_known = all(key in known or key.startswith("label:") for key, _ in question.filters)
    has_digest = opened.by_digest and len(opened.books) == 1 and question.selection.held == BOOK_PLACEMENTS
    return has_digest and is_known and opened.has_all_hours_in(question.currency)


def _by_machine_group(question: Question) -> bool:
    return any(key in keys.MACHINE_GROUP_KEYS for key, _ in question.filters)


def _digest_jobs(opened: OpenBooks, question: Question, listing: Listing) -> str:
    """Return a FROM item, with its WHERE clause, of the jobs of a digest."""
    select = f"SELECT j.*, {_cost_columns(question)} FROM digest_jobs j"
    if _by_machine_group(question):
        select = _in_machine_groups(opened, question)
    elif not opened.has_only(question.days):
        select = _within_days(opened, question)
    return f"({select}) j WHERE {_conditions(question, listing)}"


def _within_days(opened: OpenBooks, question: Question) -> str:
    """Return a SELECT of the jobs of some days."""
    grouped = Groups(question.basis, replace(question.selection, filters=()), ())
    digest = _required(grouped.digest_fragments(opened, ()))
    window = grouped.window(digest)
    first_second, last_second = (str((day - date(1970, 1, 1)).days * 86400) for day in question.days or ())
    return digest.step(
        "digest_window_jobs",
        ("basis", "currency"),
        priced=_cost_columns(question),
        time=cost.RATE_DENOMINATORS[question.per],
        that_money=question.selection.money,
        estimated=str(estimates.has_estimates(opened)).lower(),
        first_second=first_second,
        last_second=last_second,
        first=window.first,
        last=window.last,
        across=window.across,
    )


def _in_machine_groups(opened: OpenBooks, question: Question) -> str:
    """Return a SELECT of the jobs on some machine groups, with their cost and hours there."""
    selection = replace(question.selection, filters=tuple(one for one in question.filters if one[0] != "job"))
    grouped = Groups(question.basis, selection, ())
    digest = _required(grouped.digest_fragments(opened, (*LABELS, *keys.MACHINE_GROUP_KEYS)))
    return (
        "SELECT n.job_id, n.attempts, n.state, n.preemptions, n.currency, j.* "
        f"FROM ({grouped.machine_group_jobs(opened, digest, cost.rate_sql(question))}) j "
        f"JOIN digest_jobs n ON n.job = j.job AND n.currency = {digest.currency}"
    )


def _required(digest: DigestFragments | None) -> DigestFragments:
    """Return the fragments; `_in_digest` has made sure that they exist."""
    assert digest is not None
    return digest


def _from_digest(chosen: str, listing: Listing, limit: str) -> str:
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
        "j.wall AS wall_seconds, CASE WHEN NOT j.gpu_unknown THEN j.gpu * 0.000001 END AS gpu_seconds, "
        "j.cost, j.estimated, j.rate "
        f"FROM (SELECT j.* FROM {chosen}{'' if by_label else f' ORDER BY {order} {limit}'}) j "
        'JOIN digest_sets a ON a.book = j.book AND a."set" = j."set" '
        f"ORDER BY {order}{f' {limit}' if by_label else ''}"
    )


def _cost_columns(question: Question) -> str:
    part = "infra_" if question.scope == "infra" else ""
    return (
        f"j.{part}{question.basis} AS cost, j.estimated_{question.basis} AS estimated, "
        f"{cost.job_rate_sql(question)} AS rate"
    )


def _conditions(question: Question, listing: Listing) -> str:
    conditions = [f"j.currency = {quoted(question.currency)}", "(j.wall IS NOT NULL OR j.cost IS NOT NULL)"]
    for key, values in question.filters:
        if key in ("state", "job"):
            conditions.append(has_value("j.state" if key == "state" else "j.job_id", values))
        elif key not in keys.MACHINE_GROUP_KEYS:
            conditions.append(_of_set(has_value(str(keys.placement_sql(key)), values)))
    if listing.search:
        part = quoted(f"%{listing.search.replace('%', '').lower()}%")
        conditions.append(f"(lower(j.job_id) LIKE {part} OR {_of_set(f'lower(a.owner) LIKE {part}')})")
    return " AND ".join(conditions)


def _of_set(where: str) -> str:
    return f'j."set" IN (SELECT a."set" FROM digest_sets a WHERE {where})'
