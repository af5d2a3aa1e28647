"""Which figures the files allow, what is missing for the others, and what to do: pure functions of an inspection."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from trainfare.books.inspection import Inspection, Names
from trainfare.query.metrics import NAMES
from trainfare.sources import guides
from trainfare.sources.kinds import Kind

READY, PARTIAL, MISSING, OPTIONAL = "ready", "partial", "missing", "optional"
MEASUREMENTS = "docs/howto/measurements.md"


@dataclass(frozen=True)
class Figure:
    """One figure, whether it can be computed, and what is missing for it."""

    code: str
    name: str
    status: str
    missing: str = ""
    do: str = ""


Answer = tuple[str, str, str]
"""The status, what is missing, and what to do."""
DONE: Answer = (READY, "", "")


def figures(found: Inspection) -> list[Figure]:
    """Return every figure with its status, the cost per hour first."""
    metrics = [Figure(code, NAMES[code], *answer(found)) for code, answer in _METRICS.items()]
    return [*metrics, *(Figure("", name, *answer(found)) for name, answer in _OTHERS.items())]


def is_complete(found: Inspection) -> bool:
    """Return whether nothing is missing for the cost per hour."""
    return _wall_hour(found)[0] == READY


def mismatch(names: Names) -> str:
    """Return how the names of machines differ, with some of each list; empty if every name is on the bill."""
    if not names.only_in_log:
        return ""
    part = "None" if not names.on_bill else f"Only {names.on_bill}"
    verb = "is" if names.on_bill < 2 else "are"
    lists = {
        "Only in the job log": names.only_in_log,
        "Only on the bill": names.only_on_bill,
        "In the machine file, not on the bill": names.only_listed,
    }
    shown = ". ".join(f"{title}: {', '.join(some)}" for title, some in lists.items() if some)
    return f"{part} of {names.in_log} machine names in the job log {verb} on the bill. {shown}."


def mismatch_remedy(names: Names) -> str:
    """Return what to change so that names match."""
    if not names.only_in_log:
        return ""
    if names.only_listed:
        return f"Set resource_id in the machine file to the ResourceId on the bill, as in the row {_example(names)}."
    return (
        f"Write a machine file with machine_id,resource_id and rows such as {_example(names)}; "
        "or name the resources on the bill as in the job log, with a tag Name."
    )


def _example(names: Names) -> str:
    resource = names.only_on_bill[0] if names.only_on_bill else "RESOURCE_ID"
    return f"{names.only_in_log[0]},{resource}"


def _owns_machines(found: Inspection) -> bool:
    """Return whether machines are charged by a ledger, so that no bill has to cover them."""
    return bool(found.rows(Kind.HARDWARE))


def _no_bill(found: Inspection) -> Answer | None:
    if found.months or _owns_machines(found):
        return None
    listed = ", ".join(guides.guides())
    return MISSING, "There is no bill.", f"Export one; the steps: trainfare doctor --policy CLOUD (one of {listed})."


def _no_log(found: Inspection) -> Answer | None:
    if found.log.rows:
        return None
    return MISSING, "There is no job log.", guides.job_log_export()


def _wall_hour(found: Inspection) -> Answer:
    if missing := _no_bill(found) or _no_log(found):
        return missing
    billed = DONE if _owns_machines(found) else _billed_time(found)
    if billed[0] == MISSING:
        return billed
    if found.names.only_in_log:
        status = PARTIAL if found.names.on_bill else MISSING
        return status, mismatch(found.names), mismatch_remedy(found.names)
    return billed


def _billed_time(found: Inspection) -> Answer:
    """Return whether the bill covers the time of the job log."""
    first, last = found.log.first, found.log.last
    start, through = min(one.first for one in found.months), max(one.billed_through for one in found.months)
    if first is None or last is None or last < start or first > through:
        what = (
            f"The job log covers {day(first)} to {day(last)}, the bill {day(start)} to {day(through)}: no common time."
        )
        return MISSING, what, "Export both for the same month."
    if found.log.unbilled_months:
        months = ", ".join(map(str, found.log.unbilled_months))
        return PARTIAL, f"Jobs ran in months without a bill: {months}.", "Add the bills of these months."
    hours_through = max(one.hours_through or one.billed_through for one in found.months)
    if last > hours_through:
        what = f"Jobs ran until {moment(last)}; machine time is billed until {moment(hours_through)}."
        return PARTIAL, what, "Add the rest of the bill when it arrives, or set estimate = true."
    return DONE


def _gpu_hour(found: Inspection) -> Answer:
    answer = _wall_hour(found)
    if answer[0] == MISSING or found.log.with_gpus == found.log.rows or found.names.sized == found.names.in_log:
        return answer
    what = (
        f"{found.log.rows - found.log.with_gpus} of {found.log.rows} rows of the job log do not state GPUs, and "
        f"{found.names.in_log - found.names.sized} of {found.names.in_log} machines have no known number of GPUs."
    )
    return PARTIAL, what, "Add gpus to the machine file."


def _unallocated(found: Inspection) -> Answer:
    return _no_bill(found) or DONE


def _spend_rate(found: Inspection) -> Answer:
    if missing := _no_bill(found):
        return missing
    if not found.months or any(one.hourly_lines for one in found.months):
        return DONE
    what = "No line of the bill is for an hour or less, so cost is spread evenly over longer periods."
    return PARTIAL, what, "Export the bill with hourly granularity, if the provider offers it."


def _lost_work(found: Inspection) -> Answer:
    answer = _wall_hour(found)
    if answer[0] == MISSING or "checkpoint" in found.measures:
        return answer
    what = "No checkpoints were measured: an interrupted attempt counts as lost in full, which is an upper bound."
    return PARTIAL, what, f"Add measurements `checkpoint` and `step`: {MEASUREMENTS}."


def _requests(found: Inspection) -> Answer:
    if "storage_requests" not in found.measures:
        return _measured(found, "storage_requests")
    if not any(rule.by == "requests" for rule in found.settings.rule):
        do = 'Add a [[rule]] with by = "requests" that matches these charges: docs/howto/rules.md.'
        return MISSING, "No rule splits cost by requests.", do
    return _wall_hour(found)


def _egress(found: Inspection) -> Answer:
    return _wall_hour(found) if "bytes_sent" in found.measures else _measured(found, "bytes_sent")


def _measured(found: Inspection, measure: str) -> Answer:
    what = f"Nothing was measured as `{measure}`."
    return _no_bill(found) or _no_log(found) or (MISSING, what, f"Add measurements: {MEASUREMENTS}.")


def _productive(found: Inspection) -> Answer:
    answer = _gpu_hour(found)
    if answer[0] == MISSING or "gpu_busy_seconds" in found.measures:
        return answer
    what = "Nothing was measured as `gpu_busy_seconds`: productive is whatever was not lost."
    return PARTIAL, what, f"Add measurements: {MEASUREMENTS}."


def _experiments(found: Inspection) -> Answer:
    answer = _wall_hour(found)
    if answer[0] == MISSING:
        return answer
    if not found.log.labels.get("experiment"):
        do = "Add a column experiment to the job file, or experiment=NAME to the job's comment."
        return MISSING, "No job has an experiment.", do
    if not found.rows(Kind.QUALITY):
        do = f"Add a results file with job_id, metric, value, better: {MEASUREMENTS}."
        return PARTIAL, "There are no results, so there is no cost per point of quality.", do
    return answer


def _spread(found: Inspection) -> Answer:
    answer = _wall_hour(found)
    if answer[0] == MISSING or not found.months or max(one.days for one in found.months) > 1:
        return answer
    return PARTIAL, "The bill has charges of one day only.", "Add the bills of more days."


def _estimates(found: Inspection) -> Answer:
    if missing := _no_bill(found):
        return missing
    if not found.settings.estimate:
        return OPTIONAL, "Hours that are not billed yet are not estimated.", "Set estimate = true in trainfare.toml."
    return DONE


def _chargeback(label: str, noun: str) -> Callable[[Inspection], Answer]:
    def answer(found: Inspection) -> Answer:
        if missing := _no_log(found):
            return missing
        labeled = found.log.labels.get(label, 0)
        if labeled == found.log.rows:
            return DONE
        what = f"{found.log.rows - labeled} of {found.log.rows} rows of the job log have no {noun}."
        return (
            PARTIAL if labeled else MISSING,
            what,
            f"Add {label} to the job log, and tag the bill: docs/howto/tags.md.",
        )

    return answer


def _ledgers(found: Inspection) -> Answer:
    if found.ledgers:
        return DONE
    what = "There are no ledgers of owned hardware, power, licenses, labor or invoices."
    return OPTIONAL, what, "If you have such costs, add them: docs/howto/ledgers.md."


_METRICS: dict[str, Callable[[Inspection], Answer]] = {
    "M1": _wall_hour,
    "M2": _gpu_hour,
    "M3": _unallocated,
    "M4": _spend_rate,
    "M5": _lost_work,
    "M6": _requests,
    "M7": _egress,
    "M8": _productive,
    "M9": _experiments,
    "M10": _spread,
}
_OTHERS: dict[str, Callable[[Inspection], Answer]] = {
    "Estimates of hours not billed yet": _estimates,
    "Chargeback by team": _chargeback("team", "team"),
    "Chargeback by cost center": _chargeback("cost_center", "cost center"),
    "Cost that is on no bill": _ledgers,
}


def day(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d}" if time else "-"


def moment(time: datetime | None) -> str:
    """Return a time to the minute, in UTC."""
    return f"{time:%Y-%m-%d %H:%M} UTC" if time else "-"
