"""The SQL of every grain: one text per table, and one for all levels of detail of the hours."""

from functools import cache
from hashlib import sha256

from trainfare.engine.duckdb import quoted, step_text
from trainfare.engine.sql import pick
from trainfare.query.keys import MACHINE_GROUP_KEYS
from trainfare.tables import BASES, LABELS, MONEY, NOT_INFRASTRUCTURE

PACKAGE = "trainfare.query.grains"
QUERY_PACKAGE = "trainfare.query"
LABEL_COLUMNS = (*LABELS, "labels")
HOURS = ("wall", "billed_wall", "gpu", "billed_gpu")
STANDING = ("is_booked", "in_month", "in_wall", "in_gpu")
"""The figures in which a share counts: cost of the book, cost of its days, rates per wall hour and per GPU hour."""
PRODUCTIVE = ("busy", "not_lost")
"""Other choices of the hours that count, each with hours and patterns of its own."""
CORNER = 'CAST("set" AS BIGINT) * 1048576 + site'
PLACE = "CAST(attempt_key AS BIGINT) * 4294967296 + coalesce(machine + 1, 0)"
_CORNER_HELD = 'CAST(h."set" AS BIGINT) * 1048576 + h.site'
_JOB = "CAST(owner AS INTEGER) AS job"
_LEVELS = {
    "s": ("CAST(h.job AS BIGINT)", 'CAST(h."set" AS BIGINT)', _JOB),
    "c": ("CAST(h.job AS BIGINT)", _CORNER_HELD, _JOB),
    "f": ("CAST(h.job AS BIGINT)", "h.place", _JOB),
    "m": (
        "CAST(h.job AS BIGINT) * 4294967296 + h.named",
        _CORNER_HELD,
        "CAST(owner // 4294967296 AS INTEGER) AS job, CAST(owner % 4294967296 AS INTEGER) AS named",
    ),
}
"""Levels of detail of the hours: who owns time, where it is spent, and the columns of the owner.

By labels, by labels and sites (corners), by attempts and machines (places), and by corners of one machine.
"""
_DAY, _ALL_TIME = 86400, 2**32
"""Seconds of the units that hours are added up in; what a job held on one machine has no days."""
_OF_LEVEL = ("runs", "others", "intervals", "patterns", "hours")
"""The steps that make the hours of every level."""


@cache
def text(name: str) -> str:
    """Return the SELECT of a grain."""
    variant = next((one for one in PRODUCTIVE if name.endswith(f"_{one}")), "")
    base = name.removesuffix(f"_{variant}") if variant else name
    step, _, level = base.rpartition("_")
    if step in _OF_LEVEL:
        return _step(step, level, variant)
    if step == "pattern":
        return _step(base, level, variant)
    return _step(base, "f", variant)


def _step(step: str, level: str, variant: str) -> str:
    suffix = f"_{variant}" if variant else ""
    owner, place, of_owner = _LEVELS[level]
    pool = _fragments() | {one: f"grain_{one}_{level}{suffix}" for one in _OF_LEVEL}
    pool |= {
        "owner": owner,
        "place": place,
        "of_owner": of_owner,
        "unit": str(_ALL_TIME if level == "m" else _DAY),
        "billed": f"grain_billed{suffix}",
        "held": f"grain_held{suffix}",
        "placements": f"grain_{variant}" if variant else "grain_placed",
        "last_pattern": f"(SELECT coalesce(min(pattern), 0) FROM grain_patterns_{level})" if variant else "0",
        "single_places": "" if variant else " UNION ALL SELECT place, place FROM grain_places",
        "single_sets": "" if variant else ' UNION ALL SELECT CAST("set" AS BIGINT), "set" FROM grain_sets',
        "attempts": "grain_attempts",
        "book": "",
    }
    return step_text(PACKAGE, step, pick(PACKAGE, step, pool))


def jobs_text(attempts: str, book: str) -> str:
    """Return a SELECT that describes each job, given a FROM item with its attempts."""
    return step_text(PACKAGE, "jobs", {"attempts": attempts, "book": book})


def fingerprint(names: tuple[str, ...], made_from: list[str]) -> str:
    """Return a hash of the steps of these grains, with all that they are made from."""
    return sha256("|".join([*sorted(made_from), *_texts(names)]).encode()).hexdigest()[:16]


@cache
def _texts(names: tuple[str, ...]) -> tuple[str, ...]:
    steps = (
        "marked",
        "counted",
        "standings",
        "billed",
        "held",
        "placed",
        "priced",
        "summed",
        "places",
        "busy",
        "not_lost",
    )
    levels = (f"{step}_{level}" for step in _OF_LEVEL for level in _LEVELS)
    return tuple(text(name) for name in (*steps, *levels, *names))


@cache
def _fragments() -> dict[str, str]:
    return {
        "labels": ", ".join(LABEL_COLUMNS),
        "same_labels": " AND ".join(f"s.{name} IS NOT DISTINCT FROM a.{name}" for name in LABEL_COLUMNS),
        "site_keys": ", ".join(MACHINE_GROUP_KEYS),
        "places": ", ".join(f"{name} NULLS FIRST" for name in MACHINE_GROUP_KEYS),
        "no_site": ", ".join("NULL" for _ in MACHINE_GROUP_KEYS),
        "same_site": " AND ".join(f"s.{name} IS NOT DISTINCT FROM m.{name}" for name in MACHINE_GROUP_KEYS),
        "not_infrastructure": ", ".join(map(quoted, NOT_INFRASTRUCTURE)),
        "bases": ", ".join(f"s.{basis}" for basis in BASES),
        "basis_names": ", ".join(BASES),
        "billed_parts": ", ".join(f"{_billed_part(basis)} AS {basis}" for basis in BASES),
        "unbilled_parts": ", ".join(f"s.{basis} - {_billed_part(basis)} AS {basis}" for basis in BASES),
        "standing_names": ", ".join(f"n.{name}" for name in STANDING),
        "counts_in_all": ", ".join("true" for _ in STANDING),
        "sums": ", ".join(f"CAST(sum({basis}) AS {MONEY}) AS {basis}" for basis in BASES),
        "hour_sums": ", ".join(f"CAST(sum({name}) AS {_hour_type(name)}) AS {name}" for name in HOURS)
        + ", bool_or(gpu_unknown) AS gpu_unknown",
        "beside": ", ".join((*(f"m.{basis}" for basis in BASES), *(f"h.{name}" for name in HOURS)))
        + ", coalesce(h.gpu_unknown, false) AS gpu_unknown",
        "entries": (
            "SELECT job, count(*) AS entries, bit_count(bit_or(CAST(1 AS BIGINT) << "
            "CAST((day - DATE '1970-01-01') % 62 AS INTEGER))) AS days FROM joined WHERE job IS NOT NULL GROUP BY job"
        ),
        "uses": step_text(QUERY_PACKAGE, "gpu_usage", {"placements": "named_placements", "usage": "book_usage"}),
    }


def _billed_part(basis: str) -> str:
    """Return SQL for the part of an amount s that the billed GPU time is of the GPU time held."""
    return f"as_money(integer_part(in_units(s.{basis}), s.billed_time, s.held))"


def _hour_type(name: str) -> str:
    return "HUGEINT" if "gpu" in name else "BIGINT"
