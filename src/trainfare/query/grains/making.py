"""Make the grains of a book: sums of its shares and hours under the same columns, checked against the shares."""

import re
import secrets
from collections.abc import Iterable
from contextlib import closing
from functools import cache
from hashlib import sha256
from pathlib import Path

from trainfare.engine.duckdb import DuckDB, quoted, step_text
from trainfare.engine.sql import pick
from trainfare.errors import IncompleteError
from trainfare.query.grains import other_books
from trainfare.query.keys import MACHINE_GROUP_KEYS
from trainfare.query.stored import common_tables, select_of, stored_table
from trainfare.store import book_views
from trainfare.store.records import BookFiles
from trainfare.tables import BASES, LABELS, MONEY, NOT_INFRASTRUCTURE, WORK

PACKAGE = "trainfare.query.grains"
QUERY_PACKAGE = "trainfare.query"
LABEL_COLUMNS = (*LABELS, "labels")
HOURS = ("wall", "billed_wall", "gpu", "billed_gpu")
STANDING = ("is_booked", "in_month", "in_wall", "in_gpu")
"""The figures in which a share counts: cost of the book, cost of its days, rates per wall hour and per GPU hour."""
PRODUCTIVE = ("busy", "not_lost")
"""Other choices of the hours that count, each with hours and patterns of its own."""
STORED = (
    *(
        "sets",
        "attempts",
        "jobs",
        "machine_groups",
        "machines",
        "kinds",
        "currencies",
        "ways_1",
        "ways_2",
        "ways_3",
        "payers",
    ),
    *("incomplete", "shares", "placements", "pattern_f", "hours_f", "pattern_c", "hours_c", "pattern_s"),
    *("fact_cd", "fact_c", "fact_sd", "fact_s", "cost_w", "cost_c", "cost_d", "cost_m"),
    *("usage", "usage_s", "egress", "egress_s", "work", "phases", "uses"),
    *("hours_f_not_lost", "pattern_f_not_lost"),
)
"""The tables that a file of grains has. Others are made on first use, or only while these are made."""
MONEY_TABLES = ("shares", "fact_cd", "fact_c", "fact_sd", "fact_s", "cost_w", "cost_c", "cost_d", "cost_m")
"""Tables that have all money of the book, each share in exactly one sum."""
_STEPS = (
    *(
        "sets",
        "attempts",
        "jobs",
        "machine_groups",
        "machines",
        "unknown",
        "kinds",
        "currencies",
        "standings",
        "ways_1",
        "ways_2",
        "ways_3",
    ),
    *(
        "payers",
        "placements",
        "billed",
        "incomplete",
        "shares",
        "places",
        "held",
        "intervals",
        "patterns",
        "pattern_f",
        "hours_f",
        "coarser_c",
    ),
    *("pattern_c", "coarser_s", "pattern_s", "hours_c", "fact_cd", "fact_c", "fact_sd", "fact_s", "cost_w", "cost_c"),
    *("cost_d", "cost_m", "usage", "usage_s", "egress", "egress_s", "work", "phases", "uses", "busy", "not_lost"),
)
_OF_ATTEMPT = {"job_id": "VARCHAR", "attempt": "INTEGER"}
_MEASURED = {
    "book_usage": _OF_ATTEMPT
    | {"machine_id": "VARCHAR", "resource_id": "VARCHAR", "day": "DATE", "measure": "VARCHAR"}
    | {"from_region": "VARCHAR", "to_region": "VARCHAR", "value": "DECIMAL(38,6)"},
    "egress": _OF_ATTEMPT
    | {"day": "DATE", "currency": "VARCHAR", "from_region": "VARCHAR", "to_region": "VARCHAR"}
    | dict.fromkeys(BASES, MONEY),
    "work": {column.name: column.type for column in WORK.columns},
    "book_work": _OF_ATTEMPT
    | {"starts": "BIGINT", "ends": "BIGINT", "part": "VARCHAR", "how": "VARCHAR", "phase": "VARCHAR"},
}
"""Tables that a book may have been built without; then nothing was measured."""


class Maker:
    """Makes the grains of one book in the database that a connection uses, each when it is needed first."""

    def __init__(self, connection: DuckDB, book: BookFiles) -> None:
        self._connection = connection
        self._made: set[str] = set()
        for name, file in (
            ("stored_shares", "shares"),
            ("stored_placements", "book_placements"),
            ("stored_payers", "payers"),
            *((name, name) for name in ("share_kinds", "book_machines", "book_attempts", "bill_totals")),
        ):
            connection.view(name, f"SELECT * FROM {stored_table(book, file)}")
        other_books.add_to(connection, book)
        known = common_tables([book])
        for name, columns in _MEASURED.items():
            connection.view(name, select_of(book, name) if name in known else _no_rows(columns))
        placements = book_views.placements("stored_placements", "book_attempts", "book_machines")
        connection.view("named_placements", placements)

    def make(self, name: str) -> None:
        """Make a grain and whatever it is made from, unless it exists."""
        if name in self._made:
            return
        text = _text(name)
        for other in dict.fromkeys(re.findall(r"\bgrain_(\w+)", text)):
            self.make(other)
        self._connection.run(f"CREATE TABLE grain_{name} AS {text}")
        self._made.add(name)
        if name in MONEY_TABLES:
            self._require_all_money(name)

    def _require_all_money(self, name: str) -> None:
        """Check that a grain has the money of the shares, per currency and basis, to the last digit."""
        way_table = {"cost_c": "ways_2", "cost_d": "ways_2", "shares": "ways_1", "cost_w": "ways_1"}.get(name, "ways_3")
        self.make(way_table)
        sums = ", ".join(f"coalesce(sum(s.{basis}), 0) AS {basis}" for basis in BASES)
        kept = f"SELECT w.currency, {sums} FROM grain_{name} s JOIN grain_{way_table} w ON w.way = s.way GROUP BY w.currency"
        stored = (
            f"SELECT k.currency, {sums} FROM stored_shares s JOIN share_kinds k ON k.share_kind = s.share_kind "
            "GROUP BY k.currency"
        )
        nothing = " AND ".join(f"{basis} = 0" for basis in BASES)
        differing = f"((({kept}) EXCEPT ({stored})) UNION ALL (({stored}) EXCEPT ({kept})))"
        if self._connection.rows(f"SELECT 1 FROM {differing} WHERE NOT ({nothing}) LIMIT 1"):
            raise IncompleteError(f"grain {name}", "it does not add up to the shares", "Build the month again.")


def path_of(folder: Path, book: BookFiles) -> Path:
    """Return where the grains of a book are, or will be.

    The name is a hash of the files and the steps that they are made from, so they are never stale.
    """
    books = (book, *book.others)
    made_from = [*(name for one in books for name in sorted(path.name for path in one.files.values())), *_all_texts()]
    fingerprint = sha256("|".join(made_from).encode()).hexdigest()[:16]
    return folder / f"{book.month}-v{book.version}-{fingerprint}.duckdb"


def kept_in(workspace: Path) -> Path:
    """Return the folder of what is made once from a version. All of it can be deleted at any time."""
    return workspace / "cache"


def write(book: BookFiles, path: Path, memory_limit: str | None = None) -> None:
    """Make the grains of a book in a file under this name, all of them or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.draft")
    try:
        with closing(DuckDB(spill=path.parent / ".spill", memory_limit=memory_limit)) as engine:
            engine.run(f"ATTACH {quoted(draft)} AS grains; ATTACH ':memory:' AS making")
            engine.run("SET search_path = 'making.main,memory.main'")
            maker = Maker(engine, book)
            for name in STORED:
                maker.make(name)
                engine.run(f"CREATE TABLE grains.grain_{name} AS SELECT * FROM grain_{name}")
            engine.run("DETACH grains")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def jobs_text(attempts: str, book: str) -> str:
    """Return a SELECT that describes each job, given a FROM item with its attempts."""
    return step_text(PACKAGE, "jobs", {"attempts": attempts, "book": book})


@cache
def _text(name: str) -> str:
    """Return the SELECT of a grain."""
    for variant in PRODUCTIVE:
        if name.endswith(f"_{variant}"):
            return _step(name.removesuffix(f"_{variant}"), f"_{variant}", f"grain_{variant}")
    return _step(name, "", "grain_placements")


def _step(name: str, variant: str, placements: str) -> str:
    of_variant = {one: f"grain_{one}{variant}" for one in ("billed", "held", "intervals", "patterns")}
    last = "(SELECT coalesce(min(pattern), 0) FROM grain_patterns)" if variant else "0"
    pool = _fragments() | of_variant | {"placements": placements, "attempts": "grain_attempts", "book": ""}
    pool["last_pattern"] = last
    pool["single_places"] = "" if variant else " UNION ALL SELECT place, place FROM grain_places"
    return step_text(PACKAGE, name, pick(PACKAGE, name, pool))


@cache
def _all_texts() -> tuple[str, ...]:
    return tuple(map(_text, (*_STEPS, *STORED)))


def _no_rows(columns: dict[str, str]) -> str:
    listed: Iterable[str] = (f"CAST(NULL AS {type_}) AS {column}" for column, type_ in columns.items())
    return f"SELECT {', '.join(listed)} WHERE false"


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
        "no_money": ", ".join("NULL" for _ in BASES),
        "hour_sums": ", ".join(f"CAST(sum({name}) AS {_hour_type(name)}) AS {name}" for name in HOURS)
        + ", bool_or(gpu_unknown) AS gpu_unknown",
        "uses": step_text(QUERY_PACKAGE, "gpu_usage", {"placements": "named_placements", "usage": "book_usage"}),
    }


def _billed_part(basis: str) -> str:
    """Return SQL for the part of an amount s that the billed GPU time is of the GPU time held."""
    return f"as_money(integer_part(in_units(s.{basis}), s.billed_time, s.held))"


def _hour_type(name: str) -> str:
    return "HUGEINT" if "gpu" in name else "BIGINT"
