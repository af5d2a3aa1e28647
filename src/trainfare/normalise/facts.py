"""Make the facts of the account from what was delivered."""

import csv
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from importlib import resources
from typing import Protocol, TypeVar

from trainfare.engine.protocol import Engine
from trainfare.engine.sql import parquet, quoted
from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.places import Place
from trainfare.tables import CHARGES, ENDED, LABELS, MACHINES, PLACEMENTS, PRICES, QUALITY, USAGE, Table

PACKAGE = "trainfare.normalise"
DIMENSIONS = (
    "source",
    "currency",
    "origin",
    "converted_from",
    "billing_start",
    "billing_end",
    "billing_account",
    "account",
    "region",
    "charge_category",
    "charge_class",
    "service_category",
    "service_name",
    "resource_id",
    "resource_name",
    "commitment_id",
    "commitment_status",
    "reservation_status",
    "price_details",
    "tags",
)
"""What always tells kinds of charges apart; a rule that looks at more columns adds them."""
TOLD: dict[str, tuple[str, Table]] = {
    "jobs": ("delivered_placements", PLACEMENTS),
    "machines": ("machine_rows", MACHINES),
    "usage": ("usage_rows", USAGE),
    "quality": ("quality_rows", QUALITY),
    "prices": ("price_rows", PRICES),
}
"""By the kind of file, the view of what such files say, and its columns."""
STEPS = (
    "resources",
    "listed_machines",
    "machine_names",
    "machines",
    "attempts",
    "holdings",
    "placements",
    "usage_kinds",
    "keyed_usage",
    "measured",
    "measured_unknown",
    "qualities",
    "price_list",
)


@dataclass(frozen=True)
class Kinds:
    """The charges, each delivery a SELECT, and what may tell kinds of charges apart."""

    selects: tuple[str, ...]
    dimensions: tuple[str, ...]
    telling: tuple[str, ...] = ()
    """A few of the dimensions that were enough to tell all of them apart."""


def charges(engine: Engine, selects: Iterable[str], wanted: Iterable[str]) -> Kinds:
    """Make `charges` (a view on the deliveries) and `charge_kinds`; returns what tells the kinds apart."""
    kinds = Kinds(tuple(selects), (*DIMENSIONS, *sorted(set(wanted) - set(DIMENSIONS))))
    engine.taken("charges", *_some(CHARGES, kinds.selects))
    _instance_types(engine)
    engine.step(PACKAGE, "charge_kinds", "unkeyed_kinds", _grouping(kinds, "charges"))
    kinds = keyed(engine, kinds)
    return _type_by_description(engine, kinds)


def add_charges(engine: Engine, kinds: Kinds, added: str) -> Kinds:
    """Add what the SELECT `added` gives in the reader's words, with the columns of `tables.CHARGES`, to the charges and their kinds.

    Returns the kinds with it; given the same kinds again, what was added before is no longer in the charges.
    """
    engine.taken("added_charges", added)
    engine.step(PACKAGE, "charge_kinds", "added_kinds", _grouping(kinds, "added_charges"))
    engine.add("unkeyed_kinds", "SELECT * FROM added_kinds")
    engine.drop("added_kinds", "added_charges")
    together = replace(kinds, selects=(*kinds.selects, added))
    engine.taken("charges", *_some(CHARGES, together.selects))
    return keyed(engine, together)


def _grouping(kinds: Kinds, charges: str) -> dict[str, str]:
    return {"dimensions": ", ".join(kinds.dimensions), "charges": charges}


def keyed(engine: Engine, kinds: Kinds, month: Month | None = None) -> Kinds:
    """Make `charge_kinds`, the kinds with their keys, and `keyed_charges`, a view on the lines with those of their kinds: of all
    deliveries, or of a month only those that may be of it. Returns the kinds with what tells them apart.
    """
    telling, key = _key(engine, kinds)
    engine.view("keyed_charges", f"SELECT {key}, * FROM charges {_lines_of(engine, month) if month else ''}")
    return replace(kinds, telling=telling)


def _lines_of(engine: Engine, month: Month) -> str:
    """SQL for where the lines of a month are. Each delivery says its number as one, so that the files of others are not opened, and
    a file of several months is opened where it has times of this one. A time that no line is beyond is not asked for: an engine that
    sees through such a condition skips nothing for the others.
    """
    told = ("min(first_delivery)", "max(last_delivery)", "min(first_start)", "max(last_end)")
    of_month = ", ".join(f"{one} FILTER (month = DATE '{month}-01')" for one in told)
    first, last, starts, ends, first_of_all, last_of_all = engine.row(
        f"SELECT {of_month}, min(first_start), max(last_end) FROM charge_kinds"
    )
    lines = f"WHERE delivery BETWEEN {first or 0} AND {last or 0}"
    lines += f" AND period_start >= TIMESTAMP '{starts}'" if starts and starts > first_of_all else ""
    return lines + (f" AND period_end <= TIMESTAMP '{ends}'" if ends and ends < last_of_all else "")


def _key(engine: Engine, kinds: Kinds) -> tuple[tuple[str, ...], str]:
    """Make `charge_kinds`; returns what the key of a kind is a hash of, and the SQL for it. What told kinds apart before is tried first:
    most often none has come since.
    """
    telling = kinds.telling or _telling(engine, kinds.dimensions)
    for salt in range(8):
        key = f"hash({', '.join([*telling, str(salt)])}) AS kind"
        engine.table("charge_kinds", f"SELECT {key}, * FROM unkeyed_kinds")
        if _are_apart(engine):
            return telling, key
        if telling == kinds.telling:
            telling = _telling(engine, kinds.dimensions)
    raise _not_apart()


def _telling(engine: Engine, dimensions: Sequence[str]) -> tuple[str, ...]:
    """A few dimensions that tell all kinds apart: a resource's id mostly tells its account, region and tags, which then need not be read
    of every line. Each one, that id first, counts only if it tells more than those before it. Of a single kind all count, so that its
    key is no constant.
    """
    differ = engine.row(f"SELECT {', '.join(_differs(name) for name in dimensions)} FROM unkeyed_kinds")
    names = [name for name, differs in zip(dimensions, differ, strict=True) if differs]
    names.sort(key=lambda name: name != "resource_id")
    upto = (f"count(DISTINCT hash({', '.join([*names[: place + 1], '0'])}))" for place in range(len(names)))
    told = [1, *engine.row(f"SELECT {', '.join(upto)} FROM unkeyed_kinds")] if names else []
    more = tuple(name for name, before, with_it in zip(names, told, told[1:], strict=False) if with_it > before)
    return more or tuple(dimensions)


def _differs(dimension: str) -> str:
    """SQL for whether kinds differ in it."""
    return f"min({dimension}) <> max({dimension}) OR count({dimension}) BETWEEN 1 AND count(*) - 1"


def _are_apart(engine: Engine) -> bool:
    kinds, distinct = engine.row("SELECT count(*), count(DISTINCT kind) FROM charge_kinds")
    return bool(kinds == distinct)


def _not_apart() -> TrainfareError:
    return TrainfareError("", "no hash tells the kinds of charges apart", "Please report this with the bill's size.")


def held(engine: Engine, month: Month, told: Mapping[str, Iterable[str]], before: Month | None = None) -> None:
    """Make `machines`, `attempts`, `placements`, `measured` and the like, `qualities` and `price_list` of a month.

    `told` has, by kind, what the files say that speak of the month's time; no other file counts. A machine is known by the bill of
    the month for as long as that speaks of it; where hours without a bill are estimated, also by the bill of the month `before`,
    and from then on.
    """
    given = {"month": f"DATE '{month}-01'", "months": f"DATE '{month}-01'", "known_to": "epoch_second(max(k.last_end))"}
    if before:
        given |= {"months": f"DATE '{month}-01', DATE '{before}-01'", "known_to": "253402300800"}
    selects = {kind: [*told.get(kind, ())] for kind in TOLD}
    for kind, (name, table) in TOLD.items():
        engine.taken(name, *_some(table, selects[kind]))
    _one_log(engine, len(selects["jobs"]) > 1)
    given |= _told_of_attempts(engine)
    for step in STEPS:
        engine.step(PACKAGE, step, step, given)
    engine.drop("keyed_usage")


def _one_log(engine: Engine, are_several: bool) -> None:
    """Make `placement_rows`, the job logs as one. Where each speaks for itself, that is what was delivered."""
    unfinished, *of_slurm = engine.row(
        "SELECT count(*) - count(ended), count(slurm_run), count(slurm_cluster), count(slurm_resized) FROM delivered_placements"
    )
    engine.drop("placement_rows")
    if unfinished or (are_several and any(of_slurm)):
        engine.step(PACKAGE, "placement_rows", "placement_rows", {"last_words": ", ".join(map(quoted, ENDED))})
    else:
        engine.view("placement_rows", "SELECT * FROM delivered_placements")


def _told_of_attempts(engine: Engine) -> dict[str, str]:
    """SQL for what the rows of an attempt tell of it; makes `merged_labels` where rows have labels of their own."""
    names = (*LABELS, "labels", "submitted")
    found = engine.row(f"SELECT {', '.join(f'count({name})' for name in names)} FROM placement_rows")
    is_told = dict(zip(names, found, strict=True))
    told = [f"max({name}) AS {name}" for name in (*LABELS, "labels") if is_told[name]]
    columns = [f"n.{name}" if is_told[name] else f"CAST(NULL AS VARCHAR) AS {name}" for name in LABELS]
    merged, labels, queued = "", "CAST(NULL AS VARCHAR)", ["CAST(NULL AS BIGINT)"] * 2
    if is_told["labels"]:
        engine.step(PACKAGE, "merged_labels", "merged_labels")
        merged = "LEFT JOIN merged_labels m ON m.job_id = n.job_id AND m.attempt = n.attempt"
        labels = "coalesce(m.labels, n.labels)"
    if is_told["submitted"]:
        told += ["min(submitted) AS submitted", "min(started) AS started"]
        queued = [
            f"CASE WHEN n.submitted <= n.started THEN epoch_second(n.{at}) END" for at in ("submitted", "started")
        ]
    columns += [f"{labels} AS labels", f"{queued[0]} AS queued_from", f"{queued[1]} AS queued_to"]
    return {"told": "".join(f", {one}" for one in told), "columns": ", ".join(columns), "merged": merged}


def _some(table: Table, selects: Iterable[str]) -> list[str]:
    """These SELECTs; where there are none, one of no rows."""
    empty = f"SELECT {', '.join(f'CAST(NULL AS {c.type}) AS {c.name}' for c in table.columns)} WHERE false"
    return [*selects] or [empty]


def _type_by_description(engine: Engine, kinds: Kinds) -> Kinds:
    """Fill in instance types that only the text of a charge names."""
    unknown = "instance_type IS NULL AND category = 'compute' AND resource_id IS NOT NULL"
    if engine.row(f"SELECT count(*) FROM charge_kinds WHERE {unknown}")[0]:
        engine.step(PACKAGE, "described_types", "described_types")
        engine.table(
            "unkeyed_kinds",
            "SELECT k.* EXCLUDE (kind, instance_type), coalesce(k.instance_type, d.instance_type) AS instance_type "
            "FROM charge_kinds k LEFT JOIN described_types d ON d.kind = k.kind",
        )
        keyed(engine, kinds)
    return kinds


def _instance_types(engine: Engine) -> None:
    text = resources.files(PACKAGE).joinpath("instance_types.csv").read_text(encoding="utf-8")
    _, *rows = csv.reader(text.splitlines())
    columns = (
        "instance_type VARCHAR, gpus DECIMAL(18,6), gpu_model VARCHAR, cpus DECIMAL(18,3), memory_gb DECIMAL(18,3)"
    )
    engine.values("instance_types", columns, rows)


class Numbered(Protocol):
    """A delivery as far as its relevance to a month goes."""

    @property
    def number(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def archive(self) -> Place: ...


Given = TypeVar("Given", bound=Numbered)


def charged_by_month(engine: Engine) -> dict[Month, set[int]]:
    """By month, the deliveries that have charges of it. Lines are looked at only if a month has several."""
    found = engine.rows("SELECT month, min(first_delivery), max(last_delivery) FROM charge_kinds GROUP BY month")
    if all(first == last for _, first, last in found):
        return {Month.of(day): {first} for day, first, _ in found}
    charged: dict[Month, set[int]] = {}
    for day, delivery in engine.rows(
        "SELECT DISTINCT billing_month(billing_start, billing_end), delivery FROM charges"
    ):
        charged.setdefault(Month.of(day), set()).add(delivery)
    return charged


def deliveries_of(engine: Engine, delivered: Sequence[Given], month: Month, charged: Set[int]) -> list[Given]:
    """The deliveries a month is made from: those with charges of it, job logs, measurements and prices of its time and of the
    time these charges speak of, results of the jobs in these logs, and all machine files. Rates count by what was converted with them.
    """
    first_day = f"DATE '{month}-01'"
    first, last = engine.row(
        f"SELECT least(min(first_start), TIMESTAMP '{month}-01'), greatest(max(last_end), TIMESTAMP '{month.next()}-01') "
        f"FROM charge_kinds WHERE month = {first_day}"
    )
    during = {
        "jobs": f"started < TIMESTAMP '{last}' AND coalesce(ended, started) >= TIMESTAMP '{first}' OR ended IS NULL",
        "usage": f"started < TIMESTAMP '{last}' AND ended >= TIMESTAMP '{first}'",
        "prices": f"valid_from < TIMESTAMP '{last}' AND coalesce(valid_to > TIMESTAMP '{first}', true)",
    }
    logs = [file for file in delivered if file.kind == "jobs" and _has(engine, file, during["jobs"])]
    if logs:
        names = f"SELECT job_id FROM {parquet(*(file.archive for file in logs))}"
        during["quality"] = f"job_id IN ({names})"
    return [
        file
        for file in delivered
        if file.number in charged
        or file in logs
        or file.kind not in ("bill", "jobs", "quality", "rates", *during)
        or (file.kind != "jobs" and file.kind in during and _has(engine, file, during[file.kind]))
    ]


def _has(engine: Engine, file: Numbered, rows: str) -> bool:
    return bool(engine.reader.row(f"SELECT EXISTS (SELECT 1 FROM {parquet(file.archive)} WHERE {rows})")[0])
