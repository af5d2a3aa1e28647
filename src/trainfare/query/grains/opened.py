"""The grains of open books as views in an engine: of one book or several, with only what a viewer may see."""

import itertools
import threading
from collections.abc import Sequence
from datetime import date
from typing import Protocol

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.query.grains.making import HOURS, PRODUCTIVE, STANDING, Maker, jobs_text
from trainfare.query.visibility import grain_condition
from trainfare.store.records import BookFiles
from trainfare.tables import BASES

MISSING_CURRENCY = -1000
"""From here down, ways are for the time of a book in currencies that only another open book has."""
_COST = ", ".join(BASES)
_HOURS = ", ".join((*HOURS, "gpu_unknown"))
_NO_COST = ", ".join(f"CAST(NULL AS DECIMAL(38,12)) AS {basis}" for basis in BASES)
_NO_HOURS = (
    "CAST(NULL AS BIGINT) AS wall, CAST(NULL AS BIGINT) AS billed_wall, CAST(NULL AS HUGEINT) AS gpu, "
    "CAST(NULL AS HUGEINT) AS billed_gpu, false AS gpu_unknown"
)
_FACT = f"SELECT job, pattern, way, {_COST}, {_HOURS}, alone"
PLACE = "CAST(attempt_key AS BIGINT) * 4294967296 + coalesce(machine + 1, 0)"
CORNER = 'CAST("set" AS BIGINT) * 1048576 + site'


def _finest(pattern: str, hours: str) -> str:
    """Return a SELECT of single shares and the hours of a grain, one below the other."""
    return (
        f"SELECT job, {pattern} AS pattern, day, way, {_COST}, {_NO_HOURS}, false AS alone "
        "FROM {0}.grain_shares WHERE job IS NOT NULL UNION ALL "
        f"SELECT job, pattern, day, way, {_NO_COST}, {_HOURS}, false AS alone FROM {{0}}.grain_{hours}"
    )


COMPOSED: dict[str, tuple[tuple[str, ...], str]] = {
    "fact_s": (("fact_s",), f"{_FACT} FROM {{0}}.grain_fact_s WHERE job IS NOT NULL"),
    "fact_c": (("fact_c",), f"{_FACT} FROM {{0}}.grain_fact_c WHERE job IS NOT NULL"),
    "fact_sd": (("fact_sd",), f"{_FACT}, day FROM {{0}}.grain_fact_sd WHERE job IS NOT NULL"),
    "fact_cd": (("fact_cd",), f"{_FACT}, day FROM {{0}}.grain_fact_cd WHERE job IS NOT NULL"),
    "fact_fc": (("shares", "hours_c"), _finest(CORNER, "hours_c")),
    "fact_f": (("shares", "hours_f"), _finest(PLACE, "hours_f")),
    "fact_f_busy": (("shares", "hours_f_busy"), _finest(PLACE, "hours_f_busy")),
    "fact_f_not_lost": (
        ("shares", "hours_f", "hours_f_not_lost", "phases"),
        _finest(PLACE, "hours_f_not_lost")
        + f" UNION ALL SELECT job, pattern, day, way, {_NO_COST}, {_HOURS}, false AS alone FROM {{0}}.grain_hours_f "
        "WHERE job NOT IN (SELECT job FROM {0}.grain_phases WHERE part = 'lost')",
    ),
    **{
        f"pattern_f_{v}": (
            ("pattern_f", f"pattern_f_{v}"),
            f"SELECT * FROM {{0}}.grain_pattern_f UNION ALL SELECT * FROM {{0}}.grain_pattern_f_{v}",
        )
        for v in PRODUCTIVE
    },
    "cost_j": (
        ("fact_cd",),
        f'SELECT job, "set", site, day, way, payer_number, {_COST} FROM {{0}}.grain_fact_cd WHERE effective IS NOT NULL',
    ),
}
"""Grains that are read from others: what they need, and their SELECT."""
WITHOUT_JOBS = (
    *("sets", "machine_groups", "machines", "kinds", "currencies", "ways_1", "ways_2", "ways_3", "payers"),
    *("incomplete", "cost_w", "cost_c", "cost_d", "cost_m", "usage_s", "egress_s"),
    *("pattern_s", "pattern_c", "pattern_f", *(f"pattern_f_{variant}" for variant in PRODUCTIVE)),
)


_NUMBERS = itertools.count()


class BookGrains(Protocol):
    """The grains of one book."""

    def database(self, *names: str) -> str:
        """Return the quoted name of the database that has all of these grains, made if necessary."""


class MemoryGrains:
    """The grains of a book of which no file exists: each is made in memory when it is needed first."""

    def __init__(self, engine: DuckDB, book: BookFiles) -> None:
        self._engine = engine
        self._book = book
        self._lock = threading.Lock()
        self._maker: Maker | None = None
        self._alias = f"grains_{next(_NUMBERS)}"

    def database(self, *names: str) -> str:
        with self._lock:
            if self._maker is None:
                connection = self._engine.new_connection()
                connection.run(f"ATTACH ':memory:' AS {self._alias}")
                connection.run(f"SET search_path = '{self._alias}.main,memory.main'")
                self._maker = Maker(connection, self._book)
            for name in names:
                self._maker.make(name)
        return self._alias


class Grains:
    """The grains of the books of one connection. Views appear when they are needed first."""

    def __init__(self, engine: DuckDB, books: Sequence[BookGrains], visibility: Sequence[str] | None = None) -> None:
        self.engine = engine
        self.visibility = visibility
        self._books = books
        self._views: set[str] = set()
        self._offsets: list[int] = []

    @property
    def are_several(self) -> bool:
        return len(self._books) > 1

    @property
    def are_restricted(self) -> bool:
        return self.visibility is not None

    def same(self, one: str, other: str, number: str) -> str:
        """Return a SQL condition: two rows have the same number, of the same book."""
        books = f"{one}.book = {other}.book AND " if self.are_several else ""
        return f"{books}{one}.{number} = {other}.{number}"

    def table(self, name: str) -> str:
        """Return the name of the view of a grain, which exists from now on."""
        view = f"grain_{name}"
        if name not in self._views:
            self.engine.view(view, self._select(name))
            self._views.add(name)
        return view

    def days(self) -> tuple[date, date] | None:
        """Return the first day with any cost or time, and the day after the last; None if there is none."""
        found = " UNION ALL ".join(f"SELECT day FROM {self.table(name)}" for name in ("cost_d", "fact_sd"))
        first, last = self.engine.row(f"SELECT min(day), max(day) + 1 FROM ({found})")
        return (first, last) if first else None

    def _select(self, name: str) -> str:
        if name == "jobs" and (self.are_several or self.are_restricted):
            return self._jobs()
        return " UNION ALL ".join(self._of_book(name, number) for number in range(len(self._books)))

    def _jobs(self) -> str:
        """Describe each job by those of its attempts that may be seen; one that is in two books by the later book."""
        attempts = self.table("attempts")
        if self.are_several:
            latest = "row_number() OVER (PARTITION BY job, attempt ORDER BY book DESC) = 1"
            attempts = f"(SELECT * FROM {attempts} QUALIFY {latest})"
        return jobs_text(attempts, ", arg_max(book, attempt) AS book" if self.are_several else "")

    def _of_book(self, name: str, number: int) -> str:
        needed, select = COMPOSED.get(name, ((name,), f"SELECT * FROM {{0}}.grain_{name}"))
        names = needed if self.visibility is None else (*needed, "sets", "payers")
        database = self._books[number].database(*names)
        select = select.format(database)
        if self.visibility is not None:
            where = grain_condition(name, self.visibility, database)
            select = f"SELECT x.* FROM ({select}) x WHERE {where}"
        return self._numbered(name, select, number) if self.are_several else select

    def _numbered(self, name: str, select: str, number: int) -> str:
        """Number the rows of one of several books: the book, and its jobs so that one in two books has one number."""
        if name in ("ways_1", "ways_3"):
            columns = "rule, category, source, origin, account, converted_from, " if name == "ways_1" else ""
            nulls = columns and "NULL, NULL, NULL, NULL, NULL, NULL, "
            standing = ", ".join(STANDING)
            listed = f"SELECT way, {columns}currency, is_infrastructure, estimated, {standing} FROM ({select})"
            for way, currency in self._missing_currencies(number):
                listed += f" UNION ALL SELECT {way}, {nulls}{quoted(currency)}, true, false{', true' * len(STANDING)}"
            return f"SELECT {number} AS book, * FROM ({listed})"
        if name in WITHOUT_JOBS:
            return f"SELECT {number} AS book, * FROM ({select})"
        self._number_jobs()
        alone = ", x.alone AND z.number IS NULL AS alone" if name.startswith("fact_") else ""
        if alone:
            select = self._in_missing_currencies(name, select, number)
        return (
            f"SELECT {number} AS book, x.* REPLACE (coalesce(z.number, x.job + {self._offsets[number]}) AS job{alone}) "
            f"FROM ({select}) x LEFT JOIN grain_continued z ON z.book = {number} AND z.job = x.job"
        )

    def _in_missing_currencies(self, name: str, select: str, number: int) -> str:
        """Add the time of a book in the currencies that only other books have: none of it is billed in them."""
        way_table = "ways_1" if name.startswith("fact_f") else "ways_3"
        database = self._books[number].database(way_table, "currencies")
        extra = ""
        for way, _ in self._missing_currencies(number):
            (first,) = self.engine.row(f"SELECT min(currency) FROM {database}.grain_currencies")
            money = ", ".join(f"NULL AS {basis}" for basis in BASES)
            extra += (
                f" UNION ALL SELECT f.* REPLACE ({way} AS way, {money}, 0 AS billed_wall, 0 AS billed_gpu) "
                f"FROM ({select}) f JOIN {database}.grain_{way_table} w ON w.way = f.way "
                f"WHERE w.currency = {quoted(first)} AND (f.wall IS NOT NULL OR f.gpu IS NOT NULL OR f.gpu_unknown)"
            )
        return select + extra

    def _missing_currencies(self, number: int) -> list[tuple[int, str]]:
        known = []
        for book in self._books:
            listed = f"SELECT currency FROM {book.database('currencies')}.grain_currencies"
            known.append({name for (name,) in self.engine.rows(listed)})
        return [(MISSING_CURRENCY - at, name) for at, name in enumerate(sorted(set().union(*known) - known[number]))]

    def _number_jobs(self) -> None:
        if self._offsets:
            return
        at, selects = 0, []
        for number, book in enumerate(self._books):
            jobs = f"{book.database('jobs')}.grain_jobs"
            self._offsets.append(at)
            selects.append(f"SELECT {number} AS book, job, job + {at} AS number, job_id FROM {jobs}")
            at += self.engine.row(f"SELECT coalesce(max(job), 0) FROM {jobs}")[0]
        listed = " UNION ALL ".join(selects)
        self.engine.table(
            "grain_continued",
            f"WITH listed AS ({listed}), several AS (SELECT job_id, min(number) AS number FROM listed "
            "GROUP BY job_id HAVING count(*) > 1) "
            "SELECT l.book, l.job, s.number FROM listed l JOIN several s ON s.job_id = l.job_id",
        )


def in_memory(engine: DuckDB, books: Sequence[BookFiles]) -> Grains:
    """Return the grains of books of which no file exists."""
    return Grains(engine, [MemoryGrains(engine, book) for book in books])
