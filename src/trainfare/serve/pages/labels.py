"""Persisted names as pages show them."""

from trainfare.findings.failure_modes import FAILURE_MODES
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
