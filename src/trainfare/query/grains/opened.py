"""The grains of open books as views in an engine: of one book or several, with only what a viewer may see."""

import re
from collections.abc import Sequence
from datetime import date
from typing import Protocol

from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.query.grains.texts import CORNER, HOURS, PLACE, PRODUCTIVE, STANDING, jobs_text
from trainfare.query.visibility import grain_condition
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


def _finest(pattern: str, hours: str) -> str:
    """Return a SELECT of single shares and the hours of a grain, one below the other."""
    return (
        f"SELECT job, {pattern} AS pattern, day, way, {_COST}, {_NO_HOURS}, false AS alone, false AS alone_in_day "
        "FROM {shares} WHERE job IS NOT NULL UNION ALL "
        f"SELECT job, pattern, day, way, {_NO_COST}, {_HOURS}, false AS alone, false AS alone_in_day FROM {{{hours}}}"
    )


def _other_hours(hours: str, is_replaced: str) -> str:
    """Return a SELECT of the cost of jobs by labels and day, with other hours for the jobs where these differ."""
    kept = ", ".join(f"CASE WHEN NOT {is_replaced} THEN {name} END AS {name}" for name in HOURS)
    return (
        f"SELECT job, pattern, day, way, {_COST}, {kept}, gpu_unknown AND NOT {is_replaced} AS gpu_unknown, "
        f"alone AND NOT {is_replaced} AS alone, alone_in_day AND NOT {is_replaced} AS alone_in_day "
        "FROM {fact_sd} WHERE job IS NOT NULL UNION ALL "
        f"SELECT h.job, h.pattern, h.day, c.time_way, {_NO_COST}, {_HOURS}, false, false "
        f"FROM {{{hours}}} h JOIN {{currencies}} c ON c.number = -h.way"
    )


_LOST = "job IN (SELECT job FROM {phases} WHERE part = 'lost')"
COMPOSED: dict[str, str] = {
    "fact_s": f"{_FACT} FROM {{fact_s}} WHERE job IS NOT NULL",
    "fact_c": f"{_FACT} FROM {{fact_c}} WHERE job IS NOT NULL",
    "fact_sd": f"{_FACT}, alone_in_day, day FROM {{fact_sd}} WHERE job IS NOT NULL",
    "fact_cd": f"{_FACT}, alone_in_day, day FROM {{fact_cd}} WHERE job IS NOT NULL",
    "fact_m": f"{_FACT}, named FROM {{fact_m}} WHERE job IS NOT NULL",
    "fact_fc": _finest(CORNER, "hours_c"),
    "fact_f": _finest(PLACE, "hours_f"),
    "fact_s_busy": _other_hours("hours_s_busy", "true"),
    "fact_s_not_lost": _other_hours("hours_s_not_lost", f"({_LOST})"),
    "fact_f_busy": _finest(PLACE, "hours_f_busy"),
    "fact_f_not_lost": _finest(PLACE, "hours_f_not_lost")
    + f" UNION ALL SELECT job, pattern, day, way, {_NO_COST}, {_HOURS}, false AS alone, false AS alone_in_day "
    f"FROM {{hours_f}} WHERE NOT {_LOST}",
    **{
        f"pattern_{level}_{v}": f"SELECT * FROM {{pattern_{level}}} UNION ALL SELECT * FROM {{pattern_{level}_{v}}}"
        for level in ("s", "f")
        for v in PRODUCTIVE
    },
    "cost_j": f'SELECT job, "set", day, way, payer_number, {_COST} FROM {{fact_sd}} WHERE effective IS NOT NULL',
    "cost_jc": f'SELECT job, "set", site, day, way, payer_number, {_COST} FROM {{fact_cd}} WHERE effective IS NOT NULL',
}
"""Grains that are read from others, each as a SELECT with their names."""
WITHOUT_JOBS = (
    *("sets", "machine_groups", "machine_names", "machines", "kinds", "currencies", "ways_1", "ways_2", "ways_3"),
    *(
        "payers",
        "incomplete",
        "cost_w",
        "cost_c",
        "cost_d",
        "cost_m",
        "usage_s",
        "egress_s",
        "pattern_s",
        "pattern_c",
        "pattern_m",
    ),
    *("pattern_f", *(f"pattern_{level}_{variant}" for level in ("s", "f") for variant in PRODUCTIVE)),
)


class BookGrains(Protocol):
    """The grains of one book."""

    def table(self, name: str) -> str:
        """Return the name of the table of a grain, made if necessary."""


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
        book = self._books[number]
        select = COMPOSED.get(name, f"SELECT * FROM {{{name}}}")
        select = select.format_map({one: book.table(one) for one in re.findall(r"\{(\w+)\}", select)})
        if self.visibility is not None:
            where = grain_condition(name, self.visibility, book.table("sets"), book.table("payers"))
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
        alone += ", x.alone_in_day AND z.number IS NULL AS alone_in_day" if has_days(name) else ""
        if alone:
            select = self._in_missing_currencies(name, select, number)
        return (
            f"SELECT {number} AS book, x.* REPLACE (coalesce(z.number, x.job + {self._offsets[number]}) AS job{alone}) "
            f"FROM ({select}) x LEFT JOIN grain_continued z ON z.book = {number} AND z.job = x.job"
        )

    def _in_missing_currencies(self, name: str, select: str, number: int) -> str:
        """Add the time of a book in the currencies that only other books have: none of it is billed in them."""
        way_table = "ways_1" if name.startswith("fact_f") else "ways_3"
        way_names, currencies = (self._books[number].table(one) for one in (way_table, "currencies"))
        extra = ""
        for way, _ in self._missing_currencies(number):
            (first,) = self.engine.row(f"SELECT min(currency) FROM {currencies}")
            money = ", ".join(f"NULL AS {basis}" for basis in BASES)
            extra += (
                f" UNION ALL SELECT f.* REPLACE ({way} AS way, {money}, 0 AS billed_wall, 0 AS billed_gpu) "
                f"FROM ({select}) f JOIN {way_names} w ON w.way = f.way "
                f"WHERE w.currency = {quoted(first)} AND (f.wall IS NOT NULL OR f.gpu IS NOT NULL OR f.gpu_unknown)"
            )
        return select + extra

    def _missing_currencies(self, number: int) -> list[tuple[int, str]]:
        known = []
        for book in self._books:
            listed = f"SELECT currency FROM {book.table('currencies')}"
            known.append({name for (name,) in self.engine.rows(listed)})
        return [(MISSING_CURRENCY - at, name) for at, name in enumerate(sorted(set().union(*known) - known[number]))]

    def _number_jobs(self) -> None:
        if self._offsets:
            return
        at, selects = 0, []
        for number, book in enumerate(self._books):
            jobs = book.table("jobs")
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


def has_days(name: str) -> bool:
    """Return whether a grain of cost and hours has days."""
    return name.startswith("fact_") and name not in ("fact_s", "fact_c", "fact_m")
