"""Make the grains of a book: sums of its shares and hours under the same columns, checked against the shares."""

import re
from collections.abc import Mapping

from trainfare.engine.duckdb import DuckDB
from trainfare.errors import IncompleteError
from trainfare.query.grains import other_books
from trainfare.query.grains.texts import text
from trainfare.query.stored import common_tables, select_of, stored_table
from trainfare.store import book_views
from trainfare.store.records import BookFiles
from trainfare.tables import BASES, MONEY, WORK

_WAYS_1, _WAYS_2, _WAYS_3 = "ways_1", "ways_2", "ways_3"
MONEY_TABLES = {
    "shares": _WAYS_1,
    "cost_w": _WAYS_1,
    "cost_c": _WAYS_2,
    "cost_d": _WAYS_2,
    **dict.fromkeys(("fact_cd", "fact_c", "fact_sd", "fact_s", "fact_m", "cost_m"), _WAYS_3),
}
"""Tables that have all money of the book, each share in exactly one sum; and the table of their ways."""
_VIEWS = ("counted",)
"""Grains that are read once or twice while others are made, and never by a question."""
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
    """Makes the grains of one book, each when it is needed first, on a connection of its own.

    `into` says in which database a grain is made, by default in `memory`.
    """

    def __init__(
        self, connection: DuckDB, book: BookFiles, into: Mapping[str, str] | None = None, memory: str = "memory"
    ) -> None:
        self._connection = connection
        self._into = into or {}
        self._memory = memory
        self._made: dict[str, str] = {}
        self._totals: set[tuple[object, ...]] | None = None
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

    def take(self, name: str, table: str) -> None:
        """Read a grain from a table that exists already."""
        self._connection.view(f"grain_{name}", f"SELECT * FROM {table}")
        self._made[name] = table

    def make(self, name: str) -> str:
        """Make a grain and whatever it is made from, unless it exists; return the name of its table."""
        if name not in self._made:
            select = text(name)
            for other in dict.fromkeys(re.findall(r"\bgrain_(\w+)", select)):
                self.make(other)
            if name in _VIEWS:
                self._connection.view(f"grain_{name}", select)
                self._made[name] = f"grain_{name}"
                return self._made[name]
            table = f'"{self._into.get(name, self._memory)}".main.grain_{name}'
            self._connection.run(f"CREATE TABLE {table} AS {select}")
            self.take(name, table)
            if name in MONEY_TABLES:
                self._require_all_money(name)
        return self._made[name]

    def _require_all_money(self, name: str) -> None:
        """Check that a grain has the money of the shares, per currency and basis, to the last digit."""
        way_table = MONEY_TABLES[name]
        self.make(way_table)
        if self._totals is None:
            self._totals = self._sums("stored_shares s JOIN share_kinds w ON w.share_kind = s.share_kind")
        if self._sums(f"grain_{name} s JOIN grain_{way_table} w ON w.way = s.way") != self._totals:
            raise IncompleteError(f"grain {name}", "it does not add up to the shares", "Build the month again.")

    def _sums(self, rows: str) -> set[tuple[object, ...]]:
        """Return the sums of rows s per currency of w, except those without any amount."""
        sums = ", ".join(f"coalesce(sum(s.{basis}), 0)" for basis in BASES)
        return {
            row
            for row in self._connection.rows(f"SELECT w.currency, {sums} FROM {rows} GROUP BY w.currency")
            if any(row[1:])
        }


def _no_rows(columns: dict[str, str]) -> str:
    listed = (f"CAST(NULL AS {type_}) AS {column}" for column, type_ in columns.items())
    return f"SELECT {', '.join(listed)} WHERE false"
