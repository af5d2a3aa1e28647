"""The built-in rules, and the translation of a rule to an SQL condition on kinds of charges."""

from typing import Any

from trainfare.engine.sql import quoted
from trainfare.settings.config import Config
from trainfare.settings.rules import Rule

NOT_TRAINING = [
    "Business Applications",
    "Databases",
    "Developer Tools",
    "End User Computing",
    "Identity",
    "Integration",
    "Internet of Things",
    "Management and Governance",
    "Media",
    "Migration",
    "Mobile",
    "Multicloud",
    "Security",
    "Web",
]
TAGGED = ("project", "team", "cost_center", "owner", "experiment", "model_version")

DEFAULTS: tuple[Rule, ...] = (
    Rule("named job", {"tag": {"job": True}}, among="job", by="gpu_seconds"),
    Rule("unused commitment", {"commitment_status": "Unused"}, to="__idle__", reason="unused commitment"),
    Rule("unused reservation", {"reservation_status": "Unused"}, to="__idle__", reason="unused reservation"),
    Rule(
        "commitment purchase",
        {"charge_category": "Purchase", "commitment_id": "*"},
        to="__unallocated__",
        reason="commitment purchase: its cost is amortized over the usage it covers",
    ),
    Rule(
        "machine",
        {"machine": True, "charge_category": ["Usage", "Purchase", "Credit", "Adjustment"]},
        among="machine",
        by="gpu_seconds",
        idle="keep",
    ),
    *(Rule(f"tagged {key}", {"tag": {key: True}}, among=f"tag:{key}", by="gpu_seconds") for key in TAGGED),
    Rule("labor", {"origin": "labor"}, to="__unallocated__", reason="time entry without a job, project or team"),
    Rule("license per core", {"origin": "license", "service": "*(per core)"}, among="all", by="cpu_seconds"),
    Rule("license", {"origin": "license"}, among="all", by="gpu_seconds"),
    Rule("tax, credit, adjustment", {"charge_category": ["Tax", "Credit", "Adjustment"]}, among="all", by="spend"),
    Rule("support", {"category": "support"}, among="all", by="spend"),
    Rule(
        "other service", {"service_category": NOT_TRAINING}, to="__outside__", reason="a service not used for training"
    ),
    Rule(
        "other machine",
        {"service_category": "Compute", "resource_id": "*", "machine": False},
        to="__outside__",
        reason="a machine that no job used and that has no known GPU",
    ),
)
NO_RULE = Rule("no rule", to="__unallocated__")

COLUMNS = {
    "service": "service_name",
    "sku": "sku_id",
    "pricing": "pricing_category",
}
"""Match keys whose column has another name."""


def in_force(config: Config) -> tuple[Rule, ...]:
    """Return the user's rules, then the built-in ones, then the one that matches everything else."""
    return (*config.rule, *(DEFAULTS if config.default_rules else ()), NO_RULE)


def matched_columns(rules: tuple[Rule, ...]) -> set[str]:
    """Return the columns of a charge that these rules match on."""
    derived = {"category", "instance_type", "machine", "tag"}
    keys = {key for rule in rules for key in rule.match} - derived
    return {COLUMNS.get(key, key) for key in keys}


def condition(rule: Rule, config: Config) -> str:
    """Return the rule's match as SQL over kinds of charges; all of its parts must be true."""
    parts = [_part(key, wanted, config) for key, wanted in rule.match.items()]
    return " AND ".join(f"({part})" for part in parts) or "true"


def _part(key: str, wanted: Any, config: Config) -> str:
    if key == "machine":
        return "machine IS NOT NULL" if wanted else "machine IS NULL"
    if key == "tag":
        return " AND ".join(_tag_part(name, value, config) for name, value in wanted.items())
    return _like(COLUMNS.get(key, key), wanted)


def _tag_part(name: str, wanted: Any, config: Config) -> str:
    value = tag_value(name, config)
    if isinstance(wanted, bool):
        return f"{value} IS NOT NULL" if wanted else f"{value} IS NULL"
    return _like(value, wanted)


def tag_value(name: str, config: Config) -> str:
    """Return SQL for the value of a tag, under any of the names in the settings. A blank value counts as none."""
    found = [f"json_extract_string(tags, {quoted(_json_path(key))})" for key in config.tag_keys(name)]
    values = [f"CASE WHEN trim({value}) <> '' THEN {value} END" for value in found]
    return f"coalesce({', '.join(values)})" if len(values) > 1 else values[0]


def _json_path(key: str) -> str:
    return '$."' + key.replace('"', '\\"') + '"'


def _like(column: str, wanted: str | list[str]) -> str:
    """Return SQL that compares text without regard to case; `*` matches anything."""
    texts = [wanted] if isinstance(wanted, str) else wanted
    tests = []
    for text in texts:
        pattern = text.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_").replace("*", "%")
        tests.append(f"lower({column}) LIKE {quoted(pattern)} ESCAPE '\\'")
    return " OR ".join(tests)
