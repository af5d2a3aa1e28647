"""Persisted names as pages show them."""

from trainfare.findings.failure_modes import FAILURE_MODES
from trainfare.query.cost import Row
from trainfare.report.render import money
from trainfare.serve.pages.context import RequestContext

PAYERS = {"__idle__": "Idle", "__unallocated__": "Unallocated", "__outside__": "Non-training"}
PAYER_KINDS = {"outside": "non-training", "attempt": "job", "label": "label"}
FAILURE_MODE_NAMES = {mode.code: mode.query for mode in FAILURE_MODES}


def payer(name: str) -> str:
    """A payer's name; the reserved ones in plain words."""
    return PAYERS.get(name, name)


def payer_kind(kind: str) -> str:
    return PAYER_KINDS.get(kind, kind)


def finding(code: str) -> str:
    """The name of a finding, such as `Spot churn` for F2."""
    return FAILURE_MODE_NAMES.get(code, code).replace("_", " ").capitalize()


def rate_title(context: RequestContext) -> str:
    """The column title of a rate, with the hours it is divided by."""
    return "Per GPU h" if context.question.per == "gpu" else "Per wall h"


def rate(row: Row) -> str:
    """A rate, or what it is at least if no day is billed in full."""
    return money(row.rate) if row.at_least is None else f"≥ {money(row.at_least)}"


def rate_detail(row: Row) -> str:
    """What a rate leaves out, and the cost that it divides if that is not all of it; empty if neither."""
    if row.at_least is not None:
        part = "" if row.billed_part is None else f", {row.billed_part:.1%} of GPU hours are billed"
        return f"no day is billed in full{part}"
    return f"of {money(row.rate_cost)} on billed days" if row.rate_cost not in (None, row.cost) else ""
