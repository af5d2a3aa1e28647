"""The [[rule]] tables: which charges are allocated across whom, by what weight."""

import re
from decimal import Decimal
from typing import Any

import msgspec

from trainfare.errors import Problems
from trainfare.settings.messages import check_known, check_match_texts, is_text_or_texts, unexpected_type
from trainfare.tables import CATEGORIES, CHARGE_CATEGORIES, LABELS, ORIGINS

AMONG = ("machine", "cluster", "account", "region", "job", "all")
BY = (
    *("gpu_seconds", "cpu_seconds", "memory", "dominant", "weighted", "bytes_sent", "requests"),
    *("wall_seconds", "spend", "evenly"),
)
IDLE = ("keep", "spread", "owner")
TO = ("__idle__", "__unallocated__", "__outside__")
RESOURCES = ("gpu", "cpu", "memory_gb")
"""What `by = "weighted"` can weigh: a GPU, a CPU and a gigabyte of memory."""
LARGEST_RESOURCE_WEIGHT = 1000
RESOURCE_WEIGHT_DECIMALS = 3
TEXT_KEYS = (
    "category",
    "charge_category",
    "charge_class",
    "service",
    "service_category",
    "provider",
    "account",
    "billing_account",
    "region",
    "resource_id",
    "resource_name",
    "resource_type",
    "sku",
    "pricing",
    "commitment_id",
    "commitment_status",
    "reservation_status",
    "instance_type",
    "description",
    "source",
    "origin",
    "currency",
)
MATCH_KEYS = (*TEXT_KEYS, "machine", "tag")
ALLOWED_TEXTS = {
    "category": ("category", CATEGORIES),
    "charge_category": ("charge category", CHARGE_CATEGORIES),
    "origin": ("origin", ORIGINS),
}
"""Match keys with a fixed set of values, and what such a value is called."""
LARGEST_PART = 1_000_000_000
PAYER = re.compile(r"(__idle__|__unallocated__|__outside__|[a-z_]+:.+)")

BUILT_IN_RULES = (
    *("named job", "unused commitment", "unused reservation", "commitment purchase", "machine"),
    *("tagged project", "tagged team", "tagged cost_center", "tagged owner", "tagged experiment"),
    *("tagged model_version", "labor", "license per core", "license", "tax, credit, adjustment", "support"),
    *("other service", "other machine"),
)
LAST_RULE = "no rule"
"""The name of the rule for charges that match no other, which also applies without the built-in rules."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which charges are allocated across whom, by what weight."""

    name: str
    match: dict[str, Any] = msgspec.field(default_factory=dict)
    among: str = ""
    by: str = ""
    idle: str = ""
    to: str = ""
    parts: dict[str, int] = msgspec.field(default_factory=dict)
    reason: str = ""
    weights: dict[str, Decimal] = msgspec.field(default_factory=dict)


def check_rule_name(name: object, names: set[str], built_in: bool, where: str, problems: Problems) -> None:
    """Report a name that another rule in `names` or a built-in rule has."""
    if not isinstance(name, str) or not name:
        return
    if name in names:
        problems.add(f"{where} name", f"'{name}' is the name of another rule", "Give each rule a unique name.")
    elif name == LAST_RULE or (built_in and name in BUILT_IN_RULES):
        do = "Choose another name: every share shows the name of its rule."
        problems.add(f"{where} name", f"'{name}' is the name of a built-in rule", do)


def check_rule(rule: Rule, where: str, problems: Problems) -> None:
    """Report what is wrong with a rule whose values have the right types."""
    if not rule.name:
        problems.add(f"{where} name", "is empty", "Name the rule: every share shows the name of its rule.")
    targets = [name for name in ("among", "to", "parts") if getattr(rule, name)]
    if len(targets) != 1:
        what = f"sets {' and '.join(targets)}" if targets else "does not say who pays"
        problems.add(where, what, "Set exactly one of among, to or parts.")
    if rule.among and rule.among not in AMONG and not re.fullmatch(r"tag:.+", rule.among):
        _add_invalid(f"{where} among", rule.among, f"{', '.join(AMONG)}, tag:KEY.", problems)
    if rule.by and rule.by not in BY:
        _add_invalid(f"{where} by", rule.by, f"{', '.join(BY)}.", problems)
    if rule.idle and rule.idle not in IDLE:
        _add_invalid(f"{where} idle", rule.idle, f"{', '.join(IDLE)}.", problems)
    if not rule.among and (rule.by or rule.idle):
        problems.add(where, "has by or idle without among", "Remove them, or set among.")
    if rule.among and rule.idle in IDLE:
        _check_idle(rule, f"{where} idle", problems)
    _check_weights(rule, f"{where} weights", problems)
    if rule.to and rule.to not in TO:
        _add_invalid(f"{where} to", rule.to, f"{', '.join(TO)}; for a team use parts.", problems)
    _check_parts(rule.parts, f"{where} parts", problems)
    _check_match(rule.match, where, problems)


def _add_invalid(where: str, value: str, allowed: str, problems: Problems) -> None:
    problems.add(where, f"'{value}' is not a valid value", f"Use one of {allowed}")


def _check_parts(parts: dict[str, int], where: str, problems: Problems) -> None:
    for payer, part in parts.items():
        label = payer.partition(":")[0]
        if not PAYER.fullmatch(payer):
            problems.add(where, f"'{payer}' is not a payer", 'Write a label and its value, as in "team:nlp".')
        elif payer not in TO and label not in LABELS:
            do = f"Use one of {', '.join(LABELS)} before the colon."
            problems.add(where, f"'{label}' in '{payer}' is not a label", do)
        if not 0 < part <= LARGEST_PART:
            do = f"Parts are whole numbers from 1 to {LARGEST_PART}."
            problems.add(where, f"the part of '{payer}' is {part}", do)


def _check_idle(rule: Rule, where: str, problems: Problems) -> None:
    """Only a machine, or the machines of a cluster, can be idle."""
    if rule.by == "spend" and rule.idle != "spread":
        what = f"'{rule.idle}' cannot be combined with by = \"spend\""
        do = 'Remove idle: idle cost takes part like other spend. With idle = "spread" it does not.'
    elif rule.by == "spend":
        return
    elif rule.idle != "spread" and rule.by == "evenly":
        what, do = f"'{rule.idle}' cannot be combined with by = \"evenly\"", 'Remove idle, or use by = "gpu_seconds".'
    elif rule.idle == "keep" and rule.among not in ("machine", "cluster"):
        what = f"'keep' cannot be combined with among = \"{rule.among}\""
        do = 'Remove idle, or use among = "machine" or "cluster": nothing else can be idle.'
    elif rule.idle == "owner" and rule.among != "machine":
        what = f"'owner' cannot be combined with among = \"{rule.among}\""
        do = 'Remove idle, or use among = "machine": only a machine has an owner.'
    else:
        return
    problems.add(where, what, do)


def _check_weights(rule: Rule, where: str, problems: Problems) -> None:
    """Weights of resources belong to by = "weighted", which splits a machine by all of its resources at once."""
    example = "Write weights = { gpu = 9, cpu = 0.9, memory_gb = 0.1 }."
    if rule.by != "weighted":
        if rule.weights:
            problems.add(where, 'has no effect without by = "weighted"', 'Remove it, or set by = "weighted".')
        return
    if rule.among != "machine":
        what = f'by = "weighted" cannot be combined with among = "{rule.among}"'
        problems.add(where, what, 'Use among = "machine": the size of a machine is what the weights are of.')
    if not rule.weights:
        problems.add(where, 'is missing for by = "weighted"', example)
    for name, weight in rule.weights.items():
        if name not in RESOURCES:
            check_known(name, RESOURCES, where, problems)
        elif not 0 < weight <= LARGEST_RESOURCE_WEIGHT or round(weight, RESOURCE_WEIGHT_DECIMALS) != weight:
            do = f"Use a number above 0 and up to {LARGEST_RESOURCE_WEIGHT}, with at most 3 decimals."
            problems.add(f"{where}.{name}", f"{weight} is not a weight", do)


def _check_match(match: dict[str, Any], where: str, problems: Problems) -> None:
    for key, wanted in match.items():
        at = f"{where} match.{key}"
        if key not in MATCH_KEYS:
            check_known(key, MATCH_KEYS, f"{where} match", problems)
        elif key == "machine":
            if not isinstance(wanted, bool):
                problems.add(at, unexpected_type(wanted, "true or false"), "Write machine = true.")
        elif key == "tag":
            _check_tags(wanted, at, problems)
        elif not is_text_or_texts(wanted):
            do = 'Write "text", with * for anything, or a list such as ["one", "two"].'
            problems.add(at, unexpected_type(wanted, "text"), do)
        else:
            noun, allowed = ALLOWED_TEXTS.get(key, ("", ()))
            check_match_texts([wanted] if isinstance(wanted, str) else wanted, noun, allowed, at, problems)


def _check_tags(wanted: object, at: str, problems: Problems) -> None:
    do = 'Write tag = { team = "nlp" }, or { team = true } for any value.'
    if not isinstance(wanted, dict):
        problems.add(at, unexpected_type(wanted, "a table"), do)
    elif not wanted:
        problems.add(at, "lists no tag", do)
    else:
        for name, value in wanted.items():
            if not isinstance(value, bool) and not is_text_or_texts(value):
                problems.add(f"{at}.{name}", unexpected_type(value, "text, true or false"), do)
