"""Make the facts of the account from what was delivered."""

import csv
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Protocol, TypeVar

from trainfare.engine.duckdb import DuckDB, parquet
from trainfare.errors import TrainfareError
from trainfare.period import Month
from trainfare.tables import CHARGES, MACHINES, PLACEMENTS

PACKAGE = "trainfare.normalise"
DIMENSIONS = (
    "source",
    "currency",
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


def charges(engine: DuckDB, selects: Iterable[str], wanted: Iterable[str]) -> tuple[str, ...]:
    """Make `charges` (a view on the deliveries) and `charge_kinds`; returns what tells the kinds apart."""
    empty = f"SELECT {', '.join(f'CAST(NULL AS {c.type}) AS {c.name}' for c in CHARGES.columns)} WHERE false"
    engine.view("charges", " UNION ALL ".join([*selects] or [empty]))
    dimensions = (*DIMENSIONS, *sorted(set(wanted) - set(DIMENSIONS)))
    _instance_types(engine)
    for salt in range(8):
        listed = ", ".join(dimensions)
        engine.step(PACKAGE, "charge_kinds", "charge_kinds", {"dimensions": listed, "salt": str(salt)})
        kinds, distinct = engine.row("SELECT count(*), count(DISTINCT kind) FROM charge_kinds")
        if kinds == distinct:
            engine.view("keyed_charges", f"SELECT hash({listed}, {salt}) AS kind, * FROM charges")
            _type_by_description(engine)
            return dimensions
    raise TrainfareError("", "no hash tells the kinds of charges apart", "Please report this with the bill's size.")


def held(engine: DuckDB, month: Month, jobs: Iterable[str], machines: Iterable[str]) -> None:
    """Make `machines`, `attempts` and `placements` of a month from the job logs and machine files that speak of its time."""
    for name, table, selects in (("placement_rows", PLACEMENTS, jobs), ("machine_rows", MACHINES, machines)):
        empty = f"SELECT {', '.join(f'CAST(NULL AS {c.type}) AS {c.name}' for c in table.columns)} WHERE false"
        engine.view(name, " UNION ALL ".join([*selects] or [empty]))
    for step in ("resources", "listed_machines", "machine_names", "machines", "attempts", "holdings", "placements"):
        engine.step(PACKAGE, step, step, {"month": f"DATE '{month}-01'"})


def _type_by_description(engine: DuckDB) -> None:
    """Fill in instance types that only the text of a charge names."""
    unknown = "instance_type IS NULL AND category = 'compute' AND resource_id IS NOT NULL"
    if engine.row(f"SELECT count(*) FROM charge_kinds WHERE {unknown}")[0]:
        engine.step(PACKAGE, "described_types", "described_types")
        engine.run(
            "UPDATE charge_kinds SET instance_type = d.instance_type FROM described_types d WHERE d.kind = charge_kinds.kind"
        )


def _instance_types(engine: DuckDB) -> None:
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
    def archive(self) -> Path: ...


Given = TypeVar("Given", bound=Numbered)


def deliveries_of(engine: DuckDB, delivered: Sequence[Given], month: Month) -> list[Given]:
    """The deliveries a month is made from: bills with charges of it, job logs of its time and of the time these charges
    speak of, and all machine files.
    """
    first_day = f"DATE '{month}-01'"
    bills = {file.number for file in delivered if file.kind == "bill"}
    if len(bills) > 1:
        found = engine.rows(
            f"SELECT DISTINCT delivery FROM charges WHERE billing_month(billing_start, billing_end) = {first_day}"
        )
        bills = {number for (number,) in found}
    first, last = engine.row(
        f"SELECT least(min(first_start), TIMESTAMP '{month}-01'), greatest(max(last_end), TIMESTAMP '{month.next()}-01') "
        f"FROM charge_kinds WHERE month = {first_day}"
    )
    return [
        file
        for file in delivered
        if file.number in bills or (file.kind != "bill" and _speaks_of(engine, file, first, last))
    ]


def _speaks_of(engine: DuckDB, file: Numbered, first: object, last: object) -> bool:
    if file.kind != "jobs":
        return True
    during = f"started < TIMESTAMP '{last}' AND coalesce(ended, started) >= TIMESTAMP '{first}' OR ended IS NULL"
    return bool(engine.row(f"SELECT EXISTS (SELECT 1 FROM {parquet(file.archive)} WHERE {during})")[0])
