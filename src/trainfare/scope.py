"""What a placement belongs to: the scopes that charges are shared within, as SQL over placements and what they join."""

from trainfare.engine.sql import quoted
from trainfare.tables import LABELS


def of_placement(among: str) -> str:
    """SQL for the scope of a placement p, with its attempt a and machine m, in small letters."""
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
