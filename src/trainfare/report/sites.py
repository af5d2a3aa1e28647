"""Sites: the pool, cluster, region and kind of GPU that machines have together. There are few, so sums are kept for each."""

from collections.abc import Iterable
from datetime import date

from trainfare.engine.duckdb import step_text
from trainfare.report import keys
from trainfare.report.opened import Opened
from trainfare.report.slice import Slice, among

PACKAGE = "trainfare.report"
EPOCH = date(1970, 1, 1)


def are_known(opened: Opened) -> bool:
    """Whether a digest tells sites: of one book, since a machine may move between two, and to those who see all machines."""
    return opened.by_machine and len(opened.books) == 1


def joined(asked: Iterable[str], table: str) -> str:
    """SQL that joins sites m to a table that has their number, if a key that is asked for needs them."""
    is_needed = {*asked} & {*keys.OF_SITE}
    return f" JOIN digest_sites m ON m.book = {table}.book AND m.site = {table}.site" if is_needed else ""


def hours(placements: str) -> str:
    """A SELECT of the hours of each job on each site, of a FROM item with placements."""
    told = {
        "placements": placements,
        "spans": "whole",
        "hold_joins": "",
        "hold_keys": ", h.site",
        "held_names": ", site",
    }
    return step_text(PACKAGE, "group_hours", told)


def jobs(opened: Opened, slice_: Slice, by: Iterable[str], told: dict[str, str]) -> str:
    """A SELECT of the jobs of a slice with what they cost and held, per group of sites. `told` has the fragments of a digest, and SQL
    for the rate of a job.
    """
    given = chosen(opened, slice_, by) | {"counted_hours": hours("occupied")}
    return step_text(PACKAGE, "digest_site_jobs", told | given)


def chosen(opened: Opened, slice_: Slice, by: Iterable[str] = ()) -> dict[str, str]:
    """Fragments that choose days, sites and sets of labels of a digest: those of a slice."""
    first, last = (date.min, date.max) if opened.has_only(slice_.days) else slice_.days or (date.min, date.max)
    within = f"s.day >= DATE '{first}' AND s.day < DATE '{last}'"
    of_set = [among(str(keys.of_hold(key)), values) for key, values in slice_.only if key not in keys.OF_SITE]
    return {
        "first": f"DATE '{first}'",
        "last": f"DATE '{last}'",
        "first_second": str((first - EPOCH).days * 86400),
        "last_second": str((last - EPOCH).days * 86400),
        "money_in_days": f"{slice_.money} AND {within}",
        "site_groups": ", ".join(["m.book", *(f"m.{key}" for key in by if key in keys.OF_SITE)]),
        "only_sites": only(slice_),
        "in_sets": f'j."set" IN (SELECT a."set" FROM digest_sets a WHERE {" AND ".join(of_set)})' if of_set else "true",
    }


def only(slice_: Slice) -> str:
    """SQL for a site m, or a machine m, that a slice is of."""
    return " AND ".join(["true", *(among(f"m.{key}", values) for key, values in slice_.only if key in keys.OF_SITE)])
