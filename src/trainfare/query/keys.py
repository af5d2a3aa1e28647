"""The keys that costs can be grouped and filtered by."""

import difflib

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import TrainfareError
from trainfare.tables import LABELS

SPELLINGS = {
    "jobs": "job",
    "attempts": "attempt",
    "machine_id": "machine",
    "job_id": "job",
}
JOB_KEYS = ("job", "attempt", "state", *LABELS)
MACHINE_GROUP_KEYS = ("pool", "cluster", "region", "gpu_model")
"""Properties that many machines share."""
MACHINE_KEYS = ("machine", *MACHINE_GROUP_KEYS)
TIME_KEYS = ("day", "month")
CHARGE_KEYS = ("category", "rule", "source", "origin", "account")
MAX_KEYS = 3


def parse(requested: list[str], engine: DuckDB) -> list[str]:
    """Return the keys to group by, at most three.

    A key that is neither built in nor a label in the job log is an error.
    """
    keys = [
        SPELLINGS.get(key.replace("-", "_"), key.replace("-", "_"))
        for text in requested
        for key in text.split(",")
        if key
    ]
    if len(keys) > MAX_KEYS:
        raise TrainfareError("--by", f"{len(keys)} keys", f"Group by at most {MAX_KEYS} keys.")
    if len(set(keys)) < len(keys):
        raise TrainfareError("--by", "a key is repeated", "Use each key once.")
    known = (*JOB_KEYS, *MACHINE_KEYS, *TIME_KEYS, *CHARGE_KEYS)
    for index, key in enumerate(keys):
        if key not in known:
            keys[index] = _label(requested[index] if len(requested) == len(keys) else key, engine, known)
    return keys


def _label(key: str, engine: DuckDB, known: tuple[str, ...]) -> str:
    found = engine.rows(
        "SELECT DISTINCT unnest(json_keys(labels)) AS k FROM attempts WHERE labels IS NOT NULL ORDER BY k"
    )
    labels = [name for (name,) in found]
    if key in labels:
        return f"label:{key}"
    similar = difflib.get_close_matches(key, [*known, *labels], 1)
    do = f"Did you mean '{similar[0]}'?" if similar else f"Use one of {', '.join([*known, *labels])}."
    raise TrainfareError("--by", f"there is no key '{key}'", do)


def display_name(key: str) -> str:
    """Return the key's name in results."""
    return key.removeprefix("label:")


def is_attempt_label(key: str) -> bool:
    """Return whether a key is a label or the state of attempts, and so a column of their table."""
    return key in LABELS or key == "state" or key.startswith("label:")


def share_sql(key: str) -> str:
    """Return SQL for a key of shares s, attempts a, machines m. A payer such as team:nlp has that label and no job."""
    if key in LABELS:
        is_label = f"s.payer_kind = 'label' AND s.payer LIKE '{key}:%'"
        return f"CASE WHEN {is_label} THEN substr(s.payer, {len(key) + 2}) ELSE a.{key} END"
    if key in ("day", *CHARGE_KEYS):
        return f"s.{key}"
    own = {"job": "s.job_id", "attempt": "CASE WHEN s.payer_kind = 'attempt' THEN s.payer END"}
    return own.get(key) or _common_sql(key, "s")


def placement_sql(key: str) -> str | None:
    """Return SQL for a key of placements h, attempts a, machines m; None for keys that only charges have."""
    if key in CHARGE_KEYS:
        return None
    if key in LABELS:
        return f"a.{key}"
    own = {"job": "h.job_id", "attempt": "h.job_id || '#' || h.attempt", "day": "h.day"}
    return own.get(key) or _common_sql(key, "h")


def attempt_sql(key: str) -> str:
    """Return SQL for a key of rows t per attempt a and day; keys that only machines and charges have are an error."""
    if key in (*MACHINE_KEYS, *CHARGE_KEYS):
        do = f"Group by one of {', '.join((*JOB_KEYS, *TIME_KEYS))}, or a label."
        raise TrainfareError("--by", f"not every metric has the key '{key}'", do)
    own = {"job": "t.job_id", "attempt": "t.job_id || '#' || t.attempt", "day": "t.day"}
    return own.get(key) or (f"a.{key}" if key in LABELS else _common_sql(key, "t"))


def _common_sql(key: str, table: str) -> str:
    if key.startswith("label:"):
        name = key.removeprefix("label:").replace('"', '\\"')
        return f"json_extract_string(a.labels, {quoted(f'$.{chr(34)}{name}{chr(34)}')})"
    if key == "month":
        return f"strftime({table}.day, '%Y-%m')"
    if key == "machine":
        return f"{table}.machine_id"
    return f"a.{key}" if key == "state" else f"m.{key}"
