"""A cost report for programs: the documented JSON and CSV."""

import csv
import io
import json
from datetime import date, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from trainfare import quoting
from trainfare.money import decimal_text
from trainfare.query.conversions import Conversion
from trainfare.query.cost import NonJobPayer, RemainingGroups, Report, Row
from trainfare.query.open_books import Covered

SCHEMA_VERSION = 1
HOUR = Decimal(3600)


def hours(seconds: int | Decimal | None) -> str | None:
    """Return seconds as hours, to a millionth."""
    if seconds is None:
        return None
    return decimal_text((Decimal(seconds) / HOUR).quantize(Decimal("0.000001"), ROUND_HALF_EVEN))


def utc_text(value: datetime | None) -> str | None:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if value else None


def as_json(report: Report) -> str:
    """Return the documented JSON that scripts rely on."""
    return json.dumps(document(report), indent=2)


def document(report: Report) -> dict[str, Any]:
    """Return a report as the fields of its JSON document."""
    question = report.question
    return {
        "schema_version": SCHEMA_VERSION,
        "currency": question.currency,
        "basis": question.basis,
        "per": question.per,
        **({"productive": question.productive} if question.per == "productive" else {}),
        "scope": question.scope,
        "window": window(report.covered),
        "rows": [row(one) for one in report.rows],
        **({"more": _remaining(report.remaining)} if report.remaining else {}),
        "overall": row(report.overall),
        "idle": _non_job_payer(report.idle),
        "unallocated": _non_job_payer(report.unallocated),
        "outside": _non_job_payer(report.outside),
        "total": decimal_text(report.total),
        "bill": decimal_text(report.bill),
        "estimated": decimal_text(report.estimated),
        "difference": decimal_text(report.difference),
        "conversions": [_conversion(one) for one in report.conversions],
        "findings": [_finding(finding) for finding in report.findings],
    }


def window(covered: Covered) -> dict[str, Any]:
    """Return what an answer covers: `end` is excluded; it selects days, or the books of entire months."""
    return {
        "start": utc_text(covered.start),
        "end": utc_text(covered.end),
        "complete_through": utc_text(covered.complete_through),
        "selects": "days" if covered.is_days else "books",
        "books": [str(month) for month in covered.months],
    }


def row(group: Row) -> dict[str, Any]:
    """Return one group as a record for JSON and CSV."""
    return {key: _json_value(value) for key, value in group.group.items()} | {
        "cost": decimal_text(group.cost),
        "wall_hours": hours(group.wall_seconds),
        "gpu_hours": hours(group.gpu_seconds),
        "rate": decimal_text(group.rate),
        "rate_median": decimal_text(group.rate_median),
        "rate_p95": decimal_text(group.rate_p95),
        "jobs": group.jobs,
        "unbilled_wall_hours": hours(group.unbilled_wall_seconds),
        "unbilled_gpu_hours": hours(group.unbilled_gpu_seconds),
        "estimated": decimal_text(group.estimated),
        "rate_cost": decimal_text(group.rate_cost),
        "at_least": decimal_text(group.at_least),
        "billed_part": decimal_text(group.billed_part),
    }


def _remaining(groups: RemainingGroups) -> dict[str, Any]:
    return {
        "groups": groups.groups,
        "cost": decimal_text(groups.cost),
        "estimated": decimal_text(groups.estimated),
    }


def _json_value(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _non_job_payer(payer: NonJobPayer) -> dict[str, Any]:
    return {
        "cost": decimal_text(payer.cost),
        "estimated": decimal_text(payer.estimated),
        "reasons": [
            {"reason": reason, "cost": decimal_text(cost), "estimated": decimal_text(payer.estimated_by_reason[reason])}
            for reason, cost in payer.reasons
        ],
        "groups": [
            {key: _json_value(value) for key, value in group.items()} | {"cost": decimal_text(cost)}
            for group, cost in payer.groups
        ],
    }


def _conversion(one: Conversion) -> dict[str, Any]:
    return {
        "from": one.converted_from,
        "to": one.currency,
        "rate": decimal_text(one.rate),
        "rate_day": one.rate_day.isoformat(),
        "rate_source": one.rate_source,
        "lines": one.lines,
        "original": decimal_text(one.original),
        "converted": decimal_text(one.converted),
    }


def _finding(finding: dict[str, Any]) -> dict[str, Any]:
    return finding | {"evidence": json.loads(finding["evidence"]), "at_stake": decimal_text(finding["at_stake"])}


def as_csv(report: Report) -> str:
    """Return one line per group, then the payers that are not jobs and the total; the first columns are the keys."""
    names = list(report.rows[0].group) if report.rows else list(report.question.by)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    numbers = (
        *("cost", "wall_hours", "gpu_hours", "rate", "rate_median", "rate_p95", "jobs", "estimated"),
        *("rate_cost", "at_least", "billed_part"),
    )
    writer.writerow(["payer", *map(quoting.csv_text, names), *numbers, "currency"])
    for one in report.rows:
        record = row(one)
        groups = (None if record[name] is None else quoting.csv_text(str(record[name])) for name in names)
        writer.writerow(["jobs", *groups, *(record[name] for name in numbers), report.question.currency])
    sums = [
        *([("more", report.remaining.cost, report.remaining.estimated)] if report.remaining else []),
        *((name, payer.cost, payer.estimated) for name, payer in non_job_payers(report)),
        ("total", report.total, report.estimated),
    ]
    for name, cost, estimated in sums:
        amounts = {"cost": decimal_text(cost), "estimated": decimal_text(estimated)}
        cells = (amounts.get(number, "") for number in numbers)
        writer.writerow([name, *("" for _ in names), *cells, report.question.currency])
    return out.getvalue()


def non_job_payers(report: Report) -> tuple[tuple[str, NonJobPayer], ...]:
    """Return the payers that are not jobs, by id."""
    return ("__idle__", report.idle), ("__unallocated__", report.unallocated), ("__outside__", report.outside)
