"""The jobs of the open books, a page at a time."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import quoted, step_text
from trainfare.query import cost, keys
from trainfare.query.cost import PACKAGE, Question
from trainfare.query.groups import Groups, selected_placements
from trainfare.query.open_books import OpenBooks
from trainfare.tables import LABELS

SORTS = (
    *("cost", "rate", "job", "state", "attempts", "preemptions", *LABELS, *keys.SCHEDULING),
    *("started", "ended", "machines", "wall_seconds", "gpu_seconds"),
)
FACT_SORTS = {
    "cost": "cost",
    "rate": "rate",
    "wall_seconds": "wall",
    "gpu_seconds": "CASE WHEN NOT gpu_unknown THEN gpu END",
}
"""What jobs can be sorted by without knowing more about them than their cost and hours."""
MAX_JOBS = 10_000


@dataclass(frozen=True)
class Listing:
    """Which jobs, in which order: `search` is a part of the id, name, partition or QOS of a job, or of its owner."""

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
    """Return the jobs that held or paid for anything in the selection. Ties are sorted by job id.

    A filter by state keeps the jobs whose last attempt ended in that state, with all of their attempts.
    """
    limit = f"LIMIT {min(listing.limit, MAX_JOBS)} OFFSET {listing.offset}"
    count, paid = opened.engine.row(_totals(opened, question, listing))
    return Page(opened.engine.records(_select(opened, question, listing, limit)), count, paid or Decimal(0))


def select_all(opened: OpenBooks, question: Question, listing: Listing) -> str:
    """Return a SELECT of all jobs of the question, sorted, without a limit."""
    return _select(opened, question, listing, "")


def _totals(opened: OpenBooks, question: Question, listing: Listing) -> str:
    """Return a SELECT of the number and the cost of all jobs."""
    grains = opened.grains
    names = (
        f" JOIN {grains.table('jobs')} j ON j.job = h.job LEFT JOIN {grains.table('sets')} a ON {_same_set(opened)}"
        if listing.search
        else ""
    )
    facts = Groups(question.basis, question.selection, ()).facts(opened)
    return (
        f"SELECT count(*), sum(h.cost) FROM ({facts}) h{names} "
        f"WHERE (h.wall IS NOT NULL OR h.cost IS NOT NULL) AND {_matches(listing)}"
    )


def _select(opened: OpenBooks, question: Question, listing: Listing, limit: str) -> str:
    grains = opened.grains
    direction = "DESC" if listing.descending else "ASC"
    # Jobs of one book are numbered in the order of their ids.
    is_simple = listing.sort in FACT_SORTS and not listing.search and not grains.are_several
    page = f" ORDER BY {FACT_SORTS.get(listing.sort)} {direction} NULLS LAST, job {limit}" if is_simple else ""
    return step_text(
        PACKAGE,
        "jobs",
        {
            "facts": Groups(question.basis, question.selection, (), question.per).facts(opened),
            "priced": cost.RATE_DENOMINATORS[question.per],
            "all_time": cost.ALL_TIME[question.per],
            "page": page,
            "placements": selected_placements(opened, question.selection, []),
            "labels": ", ".join(f"a.{name}" for name in (*LABELS, "labels")),
            "scheduling": ", ".join(f"{keys.label_sql(name)} AS {name}" for name in keys.SCHEDULING),
            "jobs": grains.table("jobs"),
            "sets": grains.table("sets"),
            "same_set": _same_set(opened),
            "where": _matches(listing),
            "order": f"{_sort_sql(listing.sort)} {direction} NULLS LAST, j.job_id",
            "order_of_page": f"{listing.sort} {direction} NULLS LAST, job",
            "limit": "" if is_simple else limit,
        },
    )


def _sort_sql(name: str) -> str:
    return keys.label_sql(name) if name in keys.SCHEDULING else name


def _same_set(opened: OpenBooks) -> str:
    return opened.grains.same("a", "j", '"set"')


def _matches(listing: Listing) -> str:
    pattern = quoted(f"%{listing.search.replace('%', '').lower()}%")
    texts = ("j.job_id", "a.owner", *map(keys.label_sql, keys.SCHEDULING))
    return f"({' OR '.join(f'lower({text}) LIKE {pattern}' for text in texts)})" if listing.search else "true"
