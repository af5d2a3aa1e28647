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
LABEL_SPELLINGS = {"name": "job_name"}
"""Names of labels that schedulers spell otherwise, where no job has a label of that very name."""
JOB_KEYS = ("job", "attempt", "state", *LABELS)
SCHEDULING = {"job_name": "Name", "partition": "Partition", "qos": "QOS"}
"""Labels under which schedulers state a job's name and where it was queued, with their titles."""
MACHINE_GROUP_KEYS = ("pool", "cluster", "region", "gpu_model")
"""Properties that many machines share."""
MACHINE_KEYS = ("machine", *MACHINE_GROUP_KEYS)
TIME_KEYS = ("day", "month")
CHARGE_KEYS = ("category", "rule", "source", "origin", "account")
ATTEMPT_STATE, HAS_GPUS, REASON, RESOURCE = "attempt_state", "has_gpus", "reason", "resource"
"""Keys that only our own questions use: how an attempt ended, whether a machine has GPUs, why cost is idle, unallocated
or non-training, and the resource id of a machine. The key `state` is how the job ended, the state of its last attempt;
beside the key `attempt` it is how that attempt ended."""
MAX_KEYS = 3


def parse(requested: list[str], engine: DuckDB, where: str = "--by") -> list[str]:
    """Return the keys to group by, at most three. `where` is what an error names.

    A key that is neither built in nor a label in the job log is an error.
    """
    keys = [
        SPELLINGS.get(key.replace("-", "_"), key.replace("-", "_"))
        for text in requested
        for key in text.split(",")
        if key
    ]
    if len(keys) > MAX_KEYS:
        raise TrainfareError(where, f"{len(keys)} keys", f"Group by at most {MAX_KEYS} keys.")
    if len(set(keys)) < len(keys):
        raise TrainfareError(where, "a key is repeated", "Use each key once.")
    known = (*JOB_KEYS, *MACHINE_KEYS, *TIME_KEYS, *CHARGE_KEYS)
    for index, key in enumerate(keys):
        if key not in known:
            keys[index] = _label(requested[index] if len(requested) == len(keys) else key, engine, known, where)
    return [ATTEMPT_STATE if key == "state" and "attempt" in keys else key for key in keys]


def _label(key: str, engine: DuckDB, known: tuple[str, ...], where: str) -> str:
    found = engine.rows(
        "SELECT DISTINCT unnest(json_keys(labels)) AS k FROM attempts WHERE labels IS NOT NULL ORDER BY k"
    )
    labels = [name for (name,) in found]
    for name in (key, LABEL_SPELLINGS.get(key)):
        if name in labels:
            return f"label:{name}"
    similar = difflib.get_close_matches(key, [*known, *labels], 1)
    do = f"Did you mean '{similar[0]}'?" if similar else f"Use one of {', '.join([*known, *labels])}."
    raise TrainfareError(where, f"there is no key '{key}'", do)


def display_name(key: str) -> str:
    """Return the key's name in results."""
    return "state" if key == ATTEMPT_STATE else key.removeprefix("label:")


def label_sql(name: str) -> str:
    """Return SQL for a label of attempts a that is not one of the contract."""
    path = name.replace('"', '\\"')
    return f"json_extract_string(a.labels, {quoted(f'$.{chr(34)}{path}{chr(34)}')})"


def share_sql(key: str) -> str:
    """Return SQL for a key of cost s with labels a, sites m, machines x, jobs j and attempts t.

    A payer such as team:nlp has that label and no job.
    """
    if key in LABELS:
        is_label = f"s.payer_kind = 'label' AND s.payer LIKE '{key}:%'"
        return f"CASE WHEN {is_label} THEN substr(s.payer, {len(key) + 2}) ELSE a.{key} END"
    if key in (*CHARGE_KEYS, REASON):
        return f"s.{key}"
    return "x.machine_id" if key == "machine" else _common_sql(key, "s")


def hours_sql(key: str) -> str | None:
    """Return SQL for a key of patterns p and facts f, with labels a, sites m and so on; None for keys of charges."""
    if key in (*CHARGE_KEYS, REASON):
        return None
    return "coalesce(x.machine_id, p.unknown_machine)" if key == "machine" else _common_sql(key, "f")


def attempt_sql(key: str) -> str:
    """Return SQL for a key of rows s per attempt and day; keys that only machines and charges have are an error."""
    if key in (*MACHINE_KEYS, *CHARGE_KEYS, REASON, RESOURCE):
        do = f"Group by one of {', '.join((*JOB_KEYS, *TIME_KEYS))}, or a label."
        raise TrainfareError("--by", f"not every metric has the key '{key}'", do)
    return _common_sql(key, "s")


def _common_sql(key: str, table: str) -> str:
    if key.startswith("label:"):
        return label_sql(key.removeprefix("label:"))
    own = {
        "day": f"{table}.day",
        "month": f"strftime({table}.day, '%Y-%m')",
        "job": "j.job_id",
        "state": "j.state",
        "attempt": "t.job_id || '#' || t.attempt",
        ATTEMPT_STATE: "a.attempt_state",
        RESOURCE: "x.resource_id",
        "labels": "a.labels",
    }
    return own.get(key) or (f"a.{key}" if key in LABELS else f"m.{key}")
