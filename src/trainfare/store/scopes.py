"""The scopes that charges are split within, as SQL over placements and their attempts and machines."""

from trainfare.engine.sql import quoted
from trainfare.tables import LABELS

OF_MACHINES = ("machine", "cluster", "account", "region")
"""The scopes that depend on the machine of a placement."""


def of_placement(among: str) -> str:
    """Return SQL for the scope of a placement p, with its attempt a and machine m, in lower case."""
    if among.startswith("tag:"):
        key = among.removeprefix("tag:")
        path = '$."' + key.replace('"', '\\"') + '"'
        return f"lower(a.{key})" if key in LABELS else f"lower(json_extract_string(a.labels, {quoted(path)}))"
    return {
        "cluster": "lower(m.cluster)",
        "account": "lower(m.account)",
        "region": "lower(m.region)",
        "job": "lower(a.job_id)",
        "all": "'all'",
    }[among]
