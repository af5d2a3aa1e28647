"""What costs can be grouped by."""

import difflib

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.errors import TrainfareError
from trainfare.tables import LABELS

SPELLINGS = {
    "cost_centre": "cost_center",
    "jobs": "job",
    "attempts": "attempt",
    "machine_id": "machine",
    "job_id": "job",
}
OF_JOB = ("job", "attempt", "state", *LABELS)
OF_SITE = ("pool", "cluster", "region", "gpu_model")
"""What many machines have in common."""
OF_MACHINE = ("machine", *OF_SITE)
OF_TIME = ("day", "month")
OF_CHARGE = ("category", "rule", "source", "origin", "account")
MOST = 3


def parse(asked: list[str], engine: DuckDB) -> list[str]:
    """The keys to group by, at most three; one that neither we nor the job log knows is refused."""
    keys = [
        SPELLINGS.get(key.replace("-", "_"), key.replace("-", "_")) for text in asked for key in text.split(",") if key
    ]
    if len(keys) > MOST:
        raise TrainfareError("--by", f"{len(keys)} keys", f"Group by at most {MOST} at once.")
    if len(set(keys)) < len(keys):
        raise TrainfareError("--by", "a key is named twice", "Name each key once.")
    known = (*OF_JOB, *OF_MACHINE, *OF_TIME, *OF_CHARGE)
    for index, key in enumerate(keys):
        if key not in known:
            keys[index] = _label(asked[index] if len(asked) == len(keys) else key, engine, known)
    return keys


def _label(key: str, engine: DuckDB, known: tuple[str, ...]) -> str:
    found = engine.rows(
        "SELECT DISTINCT unnest(json_keys(labels)) AS k FROM attempts WHERE labels IS NOT NULL ORDER BY k"
    )
    labels = [name for (name,) in found]
    if key in labels:
        return f"label:{key}"
    near = difflib.get_close_matches(key, [*known, *labels], 1)
    do = f"Did you mean '{near[0]}'?" if near else f"Known are {', '.join([*known, *labels])}."
    raise TrainfareError("--by", f"nothing is known by '{key}'", do)


def shown(key: str) -> str:
    """The key's name in answers."""
    return key.removeprefix("label:")


def is_of_job(key: str) -> bool:
    """Whether a key is a label of attempts, which these have in their own table."""
    return key in LABELS or key == "state" or key.startswith("label:")


def of_share(key: str) -> str:
    """SQL for a key over shares s, attempts a, machines m. A payer such as team:nlp has that label and no job."""
    if key in LABELS:
        return f"CASE WHEN s.payer_kind = 'label' AND s.payer LIKE '{key}:%' THEN substr(s.payer, {len(key) + 2}) ELSE a.{key} END"
    if key in ("day", *OF_CHARGE):
        return f"s.{key}"
    return {"job": "s.job_id", "attempt": "CASE WHEN s.payer_kind = 'attempt' THEN s.payer END"}.get(key) or _shared(
        key, "s"
    )


def of_hold(key: str) -> str | None:
    """SQL for a key over placements h, attempts a, machines m; None for keys that hours do not have."""
    if key in OF_CHARGE:
        return None
    if key in LABELS:
        return f"a.{key}"
    return {"job": "h.job_id", "attempt": "h.job_id || '#' || h.attempt", "day": "h.day"}.get(key) or _shared(key, "h")


def of_attempt(key: str) -> str:
    """SQL for a key over rows t of attempts a and days; what only machines and charges have is refused."""
    if key in (*OF_MACHINE, *OF_CHARGE):
        do = f"Group by one of {', '.join((*OF_JOB, *OF_TIME))}, or a label."
        raise TrainfareError("--by", f"not every metric is known by '{key}'", do)
    own = {"job": "t.job_id", "attempt": "t.job_id || '#' || t.attempt", "day": "t.day"}
    return own.get(key) or (f"a.{key}" if key in LABELS else _shared(key, "t"))


def _shared(key: str, table: str) -> str:
    if key.startswith("label:"):
        name = key.removeprefix("label:").replace('"', '\\"')
        return f"json_extract_string(a.labels, {quoted(f'$.{chr(34)}{name}{chr(34)}')})"
    if key == "month":
        return f"strftime({table}.day, '%Y-%m')"
    if key == "machine":
        return f"{table}.machine_id"
    return f"a.{key}" if key == "state" else f"m.{key}"
