"""Turn delivered rows into the facts of a month: kinds of charges, machines, attempts, placements and measurements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from trainfare.engine.protocol import Engine
from trainfare.engine.sql import quoted, step_text
from trainfare.errors import TrainfareError
from trainfare.job_ids import job_id_sql
from trainfare.normalize import declared, instance_types
from trainfare.period import Month
from trainfare.sources.bills.checks import CHECKS
from trainfare.sources.telemetry.event_format import DECLARED, EVENT_NOTES
from trainfare.tables import CHARGES, ENDED, LABELS, MACHINES, PLACEMENTS, PRICES, QUALITY, USAGE, Table

PACKAGE = "trainfare.normalize"
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
    "note",
)
"""Columns by which kinds of charges always differ; a rule that reads other columns adds those."""
ROW_VIEWS: dict[str, tuple[str, Table]] = {
    "jobs": ("delivered_rows", PLACEMENTS),
    "machines": ("machine_rows", MACHINES),
    "usage": ("usage_rows", USAGE),
    "declared": ("declared_rows", DECLARED),
    "events": ("event_notes", EVENT_NOTES),
    "quality": ("quality_rows", QUALITY),
    "prices": ("price_rows", PRICES),
    "checks": ("bill_checks", CHECKS),
}
"""By what is delivered: the view over the rows of all files that have any, and its columns."""
LOGS = ("jobs", "declared")
"""The kinds of rows whose views also have `log_name`, the name that takes the place of a cluster."""
STEPS: dict[str, tuple[str, ...]] = {
    "resources": ("months",),
    "resource_names": (),
    "written_names": (),
    "matched_names": (),
    "listed_machines": (),
    "machine_names": ("months", "known_to"),
    "machines": (),
    "inferred_ends": ("month", "final_states"),
    "attempts": ("aggregates", "columns", "merged_labels"),
    "job_names": (),
    "holdings": ("final_states",),
    "placements": (),
    "usage_kinds": (),
    "keyed_usage": (),
    "measured": (),
    "unmatched_measurements": ("month",),
    "job_quality": (),
    "unmatched_results": (),
    "price_list": (),
}
"""The steps in order, each with the SQL fragments it takes."""
MACHINE_STEPS = (*list(STEPS)[: list(STEPS).index("machines") + 1],)
"""The steps that match machines to resources."""
PLACEMENT_STEPS = ("inferred_ends", "attempts", "holdings", "placements")
"""The steps that turn job logs into placements on these machines."""
_FINAL_STATES = ", ".join(map(quoted, ENDED))
_INFERRED_ENDS = (
    "job_id VARCHAR, attempt INTEGER, machine_id VARCHAR, started TIMESTAMP, ended TIMESTAMP, reason VARCHAR, "
    "is_in_month BOOLEAN"
)
"""The columns of `inferred_ends`, which most months do not need."""
_REPEATED_IDS = "job_id VARCHAR, log_user VARCHAR, first_submitted TIMESTAMP, last_submitted TIMESTAMP, own_id VARCHAR"
"""The columns of `repeated_ids`, which logs that never use an id again do not need."""


@dataclass(frozen=True)
class ChargeKinds:
    """The charges, one SELECT per delivery, and the columns by which kinds of charges may differ."""

    selects: tuple[str, ...]
    dimensions: tuple[str, ...]
    key_columns: tuple[str, ...] = ()
    """The few dimensions that were sufficient to distinguish all kinds."""


def make_charges(engine: Engine, selects: Iterable[str], rule_columns: Iterable[str]) -> ChargeKinds:
    """Make `charges` (a view on the deliveries) and `charge_kinds`; return the kinds with their key columns.

    `rule_columns` are the columns that the rules read.
    """
    kinds = ChargeKinds(tuple(selects), (*DIMENSIONS, *sorted(set(rule_columns) - set(DIMENSIONS))))
    engine.ingest("charges", *_or_empty(CHARGES, kinds.selects))
    instance_types.load(engine)
    engine.step(PACKAGE, "charge_kinds", "unkeyed_kinds", _grouping(kinds, "charges"))
    kinds = assign_keys(engine, kinds)
    return _type_by_description(engine, kinds)


def add_charges(engine: Engine, kinds: ChargeKinds, added: str) -> ChargeKinds:
    """Add the rows of the SELECT `added`, which runs in the reader and has the columns of `tables.CHARGES`.

    Return the kinds including it. A later call with the original kinds drops these rows from the charges again.
    """
    engine.ingest("added_charges", added)
    engine.step(PACKAGE, "charge_kinds", "added_kinds", _grouping(kinds, "added_charges"))
    engine.add("unkeyed_kinds", "SELECT * FROM added_kinds")
    engine.drop("added_kinds", "added_charges")
    extended = replace(kinds, selects=(*kinds.selects, added))
    engine.ingest("charges", *_or_empty(CHARGES, extended.selects))
    return assign_keys(engine, extended)


def _grouping(kinds: ChargeKinds, charges: str) -> dict[str, str]:
    return {"dimensions": ", ".join(kinds.dimensions), "charges": charges}


def assign_keys(engine: Engine, kinds: ChargeKinds, month: Month | None = None) -> ChargeKinds:
    """Make `charge_kinds`, the kinds with their keys, and `keyed_charges`, a view on the lines with their kinds' keys.

    With a `month`, the view skips lines that cannot belong to it. Return the kinds with their key columns.
    """
    key_columns, key = _key(engine, kinds)
    engine.view("keyed_charges", f"SELECT {key}, * FROM charges {_month_filter(engine, month) if month else ''}")
    return replace(kinds, key_columns=key_columns)


def _month_filter(engine: Engine, month: Month) -> str:
    """Return a WHERE clause that selects the lines of a month.

    The delivery number is a constant within each delivery, so files of other deliveries are not opened, and of a file
    with several months only the parts with times of this month are read. A bound that no line exceeds is left out: an
    engine that recognizes such a condition as always true would not skip anything for the other conditions either.
    """
    extremes = ("min(first_delivery)", "max(last_delivery)", "min(first_start)", "max(last_end)")
    of_month = ", ".join(f"{extreme} FILTER (month = DATE '{month}-01')" for extreme in extremes)
    first, last, starts, ends, earliest, latest = engine.row(
        f"SELECT {of_month}, min(first_start), max(last_end) FROM charge_kinds"
    )
    clause = f"WHERE delivery BETWEEN {first or 0} AND {last or 0}"
    clause += f" AND period_start >= TIMESTAMP '{starts}'" if starts and starts > earliest else ""
    return clause + (f" AND period_end <= TIMESTAMP '{ends}'" if ends and ends < latest else "")


def _key(engine: Engine, kinds: ChargeKinds) -> tuple[tuple[str, ...], str]:
    """Make `charge_kinds`; return the columns that the key of a kind is a hash of, and the SQL for the key.

    The previous key columns are tried first: most often no new kind needs more of them.
    """
    key_columns = kinds.key_columns or _distinguishing_columns(engine, kinds.dimensions)
    for salt in range(8):
        key = f"hash({', '.join([*key_columns, str(salt)])}) AS kind"
        engine.table("charge_kinds", f"SELECT {key}, * FROM unkeyed_kinds")
        if _has_unique_keys(engine):
            return key_columns, key
        if key_columns == kinds.key_columns:
            key_columns = _distinguishing_columns(engine, kinds.dimensions)
    raise TrainfareError(
        "", "no hash gives every kind of charge its own key", "Please report this with the size of the bill."
    )


def _distinguishing_columns(engine: Engine, dimensions: Sequence[str]) -> tuple[str, ...]:
    """Find a few dimensions that distinguish all kinds.

    A resource id mostly determines its account, region and tags, which then need not be read for every line. The
    resource id comes first; each further dimension is included only if it distinguishes more kinds than those before
    it. With a single kind all dimensions are used, so that its key is not a constant.
    """
    differ = engine.row(f"SELECT {', '.join(_differs(name) for name in dimensions)} FROM unkeyed_kinds")
    names = [name for name, differs in zip(dimensions, differ, strict=True) if differs]
    names.sort(key=lambda name: name != "resource_id")
    counts_sql = (f"count(DISTINCT hash({', '.join([*names[: index + 1], '0'])}))" for index in range(len(names)))
    counts = [1, *engine.row(f"SELECT {', '.join(counts_sql)} FROM unkeyed_kinds")] if names else []
    useful = tuple(name for name, without, with_it in zip(names, counts, counts[1:], strict=False) if with_it > without)
    return useful or tuple(dimensions)


def _differs(dimension: str) -> str:
    """Return SQL for whether kinds differ in this dimension."""
    return f"min({dimension}) <> max({dimension}) OR count({dimension}) BETWEEN 1 AND count(*) - 1"


def _has_unique_keys(engine: Engine) -> bool:
    kinds, distinct = engine.row("SELECT count(*), count(DISTINCT kind) FROM charge_kinds")
    return bool(kinds == distinct)


def make_month(engine: Engine, month: Month, rows: Mapping[str, Iterable[str]], before: Month | None = None) -> None:
    """Make the month's `machines`, `attempts`, `placements`, `measured`, `job_quality` and `price_list`.

    `rows` has, by kind of file, a SELECT for each file with rows for the month's time; other files do not count. A
    machine is known from the month's bill for as long as the bill covers it. Where unbilled hours are estimated, it is
    also known from the bill of the month `before`, and from then on without end.
    """
    fragments = {
        "month": f"DATE '{month}-01'",
        "months": f"DATE '{month}-01'",
        "known_to": "epoch_second(max(k.last_end))",
        "final_states": _FINAL_STATES,
    }
    if before:
        fragments |= {"months": f"DATE '{month}-01', DATE '{before}-01'", "known_to": "253402300800"}
    _ingest_rows(engine, rows, ROW_VIEWS)
    fragments |= _attempt_fragments(engine)
    has_all_ends = _has_all_ends(engine)
    for step, names in STEPS.items():
        if step == "inferred_ends" and has_all_ends:
            engine.values(step, _INFERRED_ENDS, [])
        else:
            engine.step(PACKAGE, step, step, {name: fragments[name] for name in names})
    engine.drop("keyed_usage")


def make_placements(engine: Engine, month: Month, rows: Mapping[str, Iterable[str]]) -> None:
    """Make the `attempts` and `placements` of a month on machines that are known already.

    It takes `machines` and `machine_names` as they are, so that what is held can be followed without reading bills.
    """
    fragments = {"month": f"DATE '{month}-01'", "final_states": _FINAL_STATES}
    _ingest_rows(engine, rows, ("jobs", "declared"))
    fragments |= _attempt_fragments(engine)
    for step in PLACEMENT_STEPS:
        engine.step(PACKAGE, step, step, {name: fragments[name] for name in STEPS[step]})


def _ingest_rows(engine: Engine, rows: Mapping[str, Iterable[str]], kinds: Iterable[str]) -> None:
    """Make the views over the rows of files of these kinds, and `placement_rows`."""
    selects = {kind: [*rows.get(kind, ())] for kind in kinds}
    reported = selects.get("declared", [])  # what jobs report about themselves is no log
    selects["jobs"] = [select for select in selects["jobs"] if select not in reported]
    for kind, given in selects.items():
        name, table = ROW_VIEWS[kind]
        engine.ingest(name, *(_numbered(given, table) if kind in LOGS else _or_empty(table, given)))
    engine.drop("placement_rows", "logged_rows")
    are_several = _name_jobs(engine) or len(selects["jobs"]) > 1
    _merge_logs(engine, are_several, "logged_rows" if reported else "placement_rows")
    if reported:
        declared.combine(engine)


def _numbered(logs: Iterable[str], table: Table) -> list[str]:
    """Return the SELECTs with a column `log`, which distinguishes the job logs of the month."""
    given = [*logs] or [f"SELECT *, CAST(NULL AS VARCHAR) AS log_name FROM ({_or_empty(table, [])[0]})"]
    return [f"SELECT *, {number} AS log FROM ({select})" for number, select in enumerate(given)]


def _name_jobs(engine: Engine) -> bool:
    """Make `delivered_placements`: the rows of all logs with the ids of jobs. Return whether some jobs shared an id."""
    named = {"job_id": job_id_sql("coalesce(r.log_cluster, r.log_name)", "r.job_id")}
    engine.view("named_placements", step_text(PACKAGE, "delivered_placements", named))
    engine.drop("repeated_ids")
    if engine.row("SELECT count(log_user) FROM delivered_rows")[0]:
        engine.step(PACKAGE, "repeated_ids", "repeated_ids")
    else:
        engine.values("repeated_ids", _REPEATED_IDS, [])
    own_id, (are_repeated,) = "SELECT * FROM named_placements", engine.row("SELECT count(*) FROM repeated_ids")
    if are_repeated:
        own_id = (
            "SELECT coalesce(r.own_id, n.job_id) AS job_id, n.* EXCLUDE (job_id) FROM named_placements n "
            "LEFT JOIN repeated_ids r ON r.job_id = n.job_id AND r.log_user = n.log_user "
            "AND coalesce(n.submitted, n.started) BETWEEN r.first_submitted AND r.last_submitted"
        )
    engine.view("delivered_placements", own_id)
    return bool(are_repeated)


def match_machines(engine: Engine, months: Sequence[Month], rows: Mapping[str, Iterable[str]]) -> None:
    """Make `resources`, `machine_names` and `machines` of several months at once, from `charge_kinds` and these rows.

    It shows what a build of these months would match, without anything that depends on one month.
    """
    fragments = {
        "months": ", ".join(f"DATE '{month}-01'" for month in months) or "CAST(NULL AS DATE)",
        "known_to": "epoch_second(max(k.last_end))",
    }
    _ingest_rows(engine, rows, ("jobs", "machines"))
    for step in MACHINE_STEPS:
        engine.step(PACKAGE, step, step, {name: fragments[name] for name in STEPS[step]})


def _has_all_ends(engine: Engine) -> bool:
    """Return whether every attempt that is over has an end."""
    unended = f"SELECT 1 FROM placement_rows WHERE ended IS NULL AND state IN ({_FINAL_STATES})"
    return not engine.row(f"SELECT count(*) FROM ({unended})")[0]


def _merge_logs(engine: Engine, are_several: bool, into: str) -> None:
    """Make `into`, all job logs as one. Where no row needs another to be interpreted, it is a plain view.

    `are_several` is whether attempts have to be counted again: over several logs, or because jobs shared an id.
    """
    unfinished, *numbered = engine.row(
        "SELECT count(*) - count(ended), count(log_run), count(resized) FROM delivered_placements"
    )
    if unfinished or (are_several and any(numbered)):
        engine.step(PACKAGE, "placement_rows", into, {"final_states": _FINAL_STATES})
    else:
        engine.view(into, "SELECT * FROM delivered_placements")


def _attempt_fragments(engine: Engine) -> dict[str, str]:
    """Return the fragments of step `attempts`; make `merged_labels` where rows have labels of their own.

    A column that no row fills is null, and takes no memory while grouping.
    """
    names = (*LABELS, "labels", "submitted")
    counts = engine.row(f"SELECT {', '.join(f'count({name})' for name in names)} FROM placement_rows")
    is_filled = dict(zip(names, counts, strict=True))
    aggregates = [f"max({name}) AS {name}" for name in (*LABELS, "labels") if is_filled[name]]
    columns = [f"n.{name}" if is_filled[name] else f"CAST(NULL AS VARCHAR) AS {name}" for name in LABELS]
    join, labels, queued = "", "CAST(NULL AS VARCHAR)", ["CAST(NULL AS BIGINT)"] * 2
    if is_filled["labels"]:
        engine.step(PACKAGE, "merged_labels", "merged_labels")
        join = "LEFT JOIN merged_labels m ON m.job_id = n.job_id AND m.attempt = n.attempt"
        labels = "coalesce(m.labels, n.labels)"
    if is_filled["submitted"]:
        aggregates += ["min(submitted) AS submitted", "min(started) AS started"]
        queued = [
            f"CASE WHEN n.submitted <= n.started THEN epoch_second(n.{at}) END" for at in ("submitted", "started")
        ]
    columns += [f"{labels} AS labels", f"{queued[0]} AS queued_from", f"{queued[1]} AS queued_to"]
    return {
        "aggregates": "".join(f", {aggregate}" for aggregate in aggregates),
        "columns": ", ".join(columns),
        "merged_labels": join,
    }


def _or_empty(table: Table, selects: Iterable[str]) -> list[str]:
    """Return these SELECTs, or one without rows if there are none."""
    empty = f"SELECT {', '.join(f'CAST(NULL AS {c.type}) AS {c.name}' for c in table.columns)} WHERE false"
    return [*selects] or [empty]


def _type_by_description(engine: Engine, kinds: ChargeKinds) -> ChargeKinds:
    """Fill in instance types that only the description or the SKU of a charge names."""
    unknown = "instance_type IS NULL AND category = 'compute' AND resource_id IS NOT NULL"
    if engine.row(f"SELECT count(*) FROM charge_kinds WHERE {unknown}")[0]:
        engine.step(PACKAGE, "described_types", "described_types")
        engine.table(
            "unkeyed_kinds",
            "SELECT k.* EXCLUDE (kind, instance_type), coalesce(k.instance_type, d.instance_type) AS instance_type "
            "FROM charge_kinds k LEFT JOIN described_types d ON d.kind = k.kind",
        )
        assign_keys(engine, kinds)
    return kinds
