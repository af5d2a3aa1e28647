"""The jobs of the opened books, a page at a time."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trainfare.engine.duckdb import quoted, step_text
from trainfare.report import cost
from trainfare.report.cost import PACKAGE, Question
from trainfare.report.opened import Opened
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
    part = quoted(f"%{listing.named.replace('%', '').lower()}%")
    order = f"{listing.sort} {'DESC' if listing.descending else 'ASC'} NULLS LAST, job"
    found = opened.engine.records(
        step_text(
            PACKAGE,
            "jobs",
            {
                "cost": cost.select(question, ["job"]),
                "labels": ", ".join(f"max({name}) AS {name}" for name in LABELS),
                "label_names": ", ".join(f"l.{name}" for name in LABELS),
                "placements": question.slice.placements,
                "where": f"(lower(c.k0) LIKE {part} OR lower(l.owner) LIKE {part})" if listing.named else "true",
                "order": order,
                "limit": str(min(listing.limit, MOST)),
                "offset": str(listing.offset),
            },
        )
    )
    count, paid = (found[0]["jobs"], found[0]["jobs_cost"]) if found else (0, Decimal(0))
    return Page([_without_sums(record) for record in found], count, paid or Decimal(0))


def _without_sums(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in ("jobs", "jobs_cost")}
