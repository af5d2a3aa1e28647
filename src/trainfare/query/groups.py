"""Cost and hours per group: the coarsest grain that has the keys of a question, and the SQL that reads it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from trainfare.engine.duckdb import quoted, step_text
from trainfare.query import keys
from trainfare.query.grains.opened import Grains, has_days
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import PAYER_KINDS, Selection, has_value, in_days, share_matches

PACKAGE = "trainfare.query"
JOB_PAYERS = PAYER_KINDS["jobs"]
RATE_WAYS = {"wall": "in_wall", "gpu": "in_gpu", "productive": "in_gpu"}
"""The column of ways that says whether cost counts in a rate, by the hours it divides by."""


@dataclass(frozen=True)
class Grain:
    """A table at some level of detail: what it can be grouped by, and the level of its ways."""

    name: str
    has: frozenset[str]
    way_table: str
    patterns: str = ""
    own: str = ""
    """What its rows are cut by, as by days: only questions that are grouped by it can be answered."""


COST_GRAINS = (
    Grain("cost_d", frozenset(("set", "category")), "ways_2"),
    Grain("cost_w", frozenset(("set", "category", "rule")), "ways_1"),
    Grain("cost_c", frozenset(("set", "category", "site")), "ways_2"),
    Grain("cost_m", frozenset(("machine", "site")), "ways_3"),
    Grain("cost_j", frozenset(("job", "set")), "ways_3"),
    Grain("cost_jc", frozenset(("job", "set", "site")), "ways_3"),
    Grain("shares", frozenset(("job", "set", "category", "rule", "site", "machine", "attempt")), "ways_1"),
)
"""From coarse to fine. All of them have payers and days."""
BUSY_COST = Grain("cost_b", frozenset(("job", "set")), "ways_3")
"""The cost of the attempts whose busy GPU time was measured."""
FACT_GRAINS = (
    Grain("fact_s", frozenset(("set",)), "ways_3", "pattern_s"),
    Grain("fact_sd", frozenset(("set", "day")), "ways_3", "pattern_s"),
    Grain("fact_m", frozenset(("set", "site", "machine")), "ways_3", "pattern_m", own="machine"),
    Grain("fact_c", frozenset(("set", "site")), "ways_3", "pattern_c"),
    Grain("fact_cd", frozenset(("set", "site", "day")), "ways_3", "pattern_c"),
    Grain("fact_fc", frozenset(("set", "site", "day", "category", "rule")), "ways_1", "pattern_c"),
    Grain("fact_f", frozenset(("set", "site", "day", "category", "rule", "machine", "attempt")), "ways_1", "pattern_f"),
)
"""From coarse to fine: cost and hours of jobs. All of them have jobs."""


def needed(key: str) -> str:
    """Return what a grain must have to be grouped or filtered by a key; all of them have payers."""
    if key in (*keys.MACHINE_GROUP_KEYS, keys.HAS_GPUS):
        return "site"
    own = {"day": "day", "month": "day", "state": "job", "origin": "category", "converted_from": "category"}
    own |= dict.fromkeys(("rule", "source", "account"), "rule")
    own |= dict.fromkeys(("job", "attempt", "machine", "category", "payer", "site"), "")
    own |= {keys.REASON: "payer", keys.RESOURCE: "machine"}
    return own.get(key, "set") or key


def coarsest(grains: Sequence[Grain], wanted: Iterable[str], always: Iterable[str] = ()) -> Grain:
    """Return the first grain that has all that these keys need; what all of them have is not looked for."""
    missing = {needed(key) for key in wanted} - {*always}
    return next(grain for grain in grains if missing <= grain.has)


def _answers(grain: Grain, by: Sequence[str]) -> bool:
    return not grain.own or grain.own in map(needed, by)


def cost_grain(opened: OpenBooks, requested: Iterable[str]) -> Grain:
    """Return the coarsest grain of cost with these keys. What a viewer may see depends on labels."""
    restricted = ["set"] if opened.grains.are_restricted else []
    return coarsest(COST_GRAINS, [*requested, *restricted], ("payer", "day"))


def fact_grain(opened: OpenBooks, selection: Selection, by: Sequence[str]) -> Grain:
    """Return the coarsest grain of the cost and hours of jobs that a question can be answered from."""
    is_one_book = not opened.grains.are_several and opened.has_only(selection.days)
    windowed = [] if selection.days is None or is_one_book else ["day"]
    wanted = [*by, *selection.filter_keys, *windowed]
    if selection.hours != "held":
        others = [
            Grain(f"fact_{level}_{selection.hours}", grain.has, grain.way_table, f"pattern_{level}_{selection.hours}")
            for level, grain in (("s", FACT_GRAINS[1]), ("f", FACT_GRAINS[-1]))
        ]
        return coarsest(others, wanted, ("payer", "job"))
    return coarsest([grain for grain in FACT_GRAINS if _answers(grain, by)], wanted, ("payer", "job"))


def joins(grains: Grains, requested: Iterable[str], table: str, job: str | None = None) -> str:
    """Return SQL that joins the names of these keys to a table with numbers; jobs to another one, if given."""
    wanted = {needed(key) for key in requested}
    found = ""
    if "set" in wanted:
        found += f" LEFT JOIN {grains.table('sets')} a ON {grains.same('a', table, _SET)}"
    if "site" in wanted:
        found += f" LEFT JOIN {grains.table('machine_groups')} m ON {grains.same('m', table, 'site')}"
    if "machine" in wanted:
        found += f" LEFT JOIN {grains.table('machines')} x ON {grains.same('x', table, 'machine')}"
    if "attempt" in wanted:
        found += f" LEFT JOIN {grains.table('attempts')} t ON {grains.same('t', table, 'attempt_key')}"
    if "job" in wanted:
        found += f" LEFT JOIN {grains.table('jobs')} j ON j.job = {job or table}.job"
    return found


_SET = '"set"'


def named_cost(grains: Grains, grain: Grain) -> str:
    """Return a FROM item: a grain of cost with its ways and payers by name."""
    book = ", book" if grains.are_several else ""
    payers = f"LEFT JOIN {grains.table('payers')} p ON {grains.same('p', 's', 'payer_number')}"
    return (
        f"(SELECT s.*, w.* EXCLUDE (way{book}), coalesce(p.payer_kind, 'attempt') AS payer_kind, p.payer, p.reason "
        f"FROM {grains.table(grain.name)} s "
        f"JOIN {grains.table(grain.way_table)} w ON {grains.same('w', 's', 'way')} {payers})"
    )


def all_shares(opened: OpenBooks) -> str:
    """Return a FROM item with all cost of the books by payer kind, reason, category, rule, source and account."""
    return f"(SELECT s.* FROM {named_cost(opened.grains, cost_grain(opened, ['rule']))} s WHERE s.is_booked)"


def has_keys(grain: Grain, requested: Iterable[str]) -> bool:
    """Return whether a grain of cost can be grouped and filtered by these keys."""
    return {needed(key) for key in requested} - {"payer", "day"} <= grain.has


def counted(opened: OpenBooks, selection: Selection, table: str, day: str | None) -> str:
    """Return the SQL condition on the figures and days of a table of cost: of the books, or of the days in any book.

    A day of a month without a book counts in the book that has its cost. Without a column of days, the rows are those
    of one book, all of whose days are selected.
    """
    if selection.days is None:
        return f"{table}.is_booked"
    months = ", ".join(quoted(str(book.month)) for book in opened.books)
    is_elsewhere = f" AND strftime({day}, '%Y-%m') NOT IN ({months})" if day else ""
    return f"({table}.in_month OR ({table}.is_booked{is_elsewhere}))"


def selected_shares(
    opened: OpenBooks,
    selection: Selection,
    requested: Sequence[str],
    with_rates: bool = False,
    grain: Grain | None = None,
) -> str:
    """Return a FROM item with the selected cost in s, and the names of the requested keys joined to it.

    Of what a charge states, only the requested keys are columns of s, besides `currency` and `estimated`. With
    `with_rates`, shares that count in rates only are included: those of other books for days of these.
    """
    grains = opened.grains
    grain = grain or cost_grain(opened, [*requested, *selection.filter_keys])
    where = [selection.way_condition("s"), *(share_matches(key, values) for key, values in selection.filters)]
    where += in_days(selection.days, "s.day")
    is_counted = counted(opened, selection, "s", "s.day")
    where.append(f"({is_counted} OR s.in_gpu)" if with_rates else is_counted)
    chosen = (
        f"SELECT s.* FROM {named_cost(grains, grain)} s{joins(grains, selection.filter_keys, 's')} "
        f"WHERE {' AND '.join(where)}"
    )
    return f"({chosen}) s{joins(grains, requested, 's')}"


@dataclass(frozen=True)
class Groups:
    """The keys of a report, and the cost it sums."""

    basis: str
    selection: Selection
    by: Sequence[str]
    per: str = "wall"

    @property
    def names(self) -> list[str]:
        return [f"k{index}" for index in range(len(self.by))]

    @property
    def hour_names(self) -> list[str]:
        """Return the names of the groups that hours have, too."""
        return [f"k{index}" for index, key in enumerate(self.by) if key not in keys.CHARGE_KEYS]

    def costs(self, opened: OpenBooks) -> str:
        """Return a SELECT of the cost of jobs and labels per group."""
        fragments = {
            "basis": self.basis,
            "share_keys": "".join(f", {keys.share_sql(key)} AS k{index}" for index, key in enumerate(self.by)),
            "shares": selected_shares(opened, self.selection, self.by, with_rates=True),
            "kinds": JOB_PAYERS,
            "is_counted": counted(opened, self.selection, "s", "s.day"),
            "in_rate": RATE_WAYS[self.per],
        }
        return step_text(PACKAGE, "group_costs", fragments)

    def facts(self, opened: OpenBooks) -> str:
        """Return a SELECT of the cost and hours of each job per group."""
        grains = opened.grains
        grain = fact_grain(opened, self.selection, self.by)
        selection = self.selection
        wanted = (*self.by, *selection.filter_keys)
        in_pattern = [key for key in wanted if _is_of_pattern(key, grain)]
        chosen = [(index, key) for index, key in enumerate(self.by) if _is_of_pattern(key, grain)]
        own = [
            (index, f"w.{key}" if key in keys.CHARGE_KEYS else _hours_sql(key, grain))
            for index, key in enumerate(self.by)
            if not _is_of_pattern(key, grain)
        ]
        in_day = "day" in self.by and has_days(grain.name)
        fragments = {
            "patterns": grains.table(grain.patterns),
            "book": ", p.book" if grains.are_several else "",
            "alone": "alone_in_day" if in_day else "alone",
            "chosen_keys": "".join(f", {keys.hours_sql(key)} AS k{index}" for index, key in chosen),
            "pattern_joins": joins(grains, in_pattern, "p"),
            "chosen_where": _all_of(_hour_filters(selection, grain, of_pattern=True)),
            "facts": grains.table(grain.name),
            "same_pattern": grains.same("c", "f", "pattern"),
            "way_table": grains.table(grain.way_table),
            "same_way": grains.same("w", "f", "way"),
            "job_joins": joins(grains, [key for key in wanted if needed(key) == "job"], "f")
            + (
                f" LEFT JOIN {grains.table('machine_names')} n ON {grains.same('n', 'f', 'named')}" if grain.own else ""
            ),
            "currency": selection.way_condition("w").split(" AND ")[0],
            "fact_keys": "".join(f", c.k{index}" for index, _ in chosen)
            + "".join(f", {sql} AS k{index}" for index, sql in own),
            "fact_where": _all_of(
                [
                    *_hour_filters(selection, grain, of_pattern=False),
                    *([] if opened.has_only(selection.days) else in_days(selection.days, "f.day")),
                ]
            ),
            "is_paid": _all_of([selection.way_condition("w"), *_money_filters(selection)]),
            "is_counted": counted(opened, selection, "w", "f.day" if "day" in grain.has else None),
            "in_rate": RATE_WAYS[self.per],
            "basis": self.basis,
        }
        return step_text(PACKAGE, "job_facts", fragments)


def _all_of(conditions: Sequence[str]) -> str:
    return " AND ".join(["true", *conditions])


def _is_of_pattern(key: str, grain: Grain) -> bool:
    """Return whether a key is of what was held: labels, sites, machines, attempts."""
    return needed(key) in {"set", "site", "machine", "attempt"} - {grain.own}


def _hours_sql(key: str, grain: Grain) -> str | None:
    return "n.machine_id" if grain.own and needed(key) == grain.own else keys.hours_sql(key)


def _hour_filters(selection: Selection, grain: Grain, of_pattern: bool) -> list[str]:
    held = [(key, _hours_sql(key, grain), values) for key, values in selection.filters if key != "payer"]
    return [has_value(sql, values) for key, sql, values in held if sql and _is_of_pattern(key, grain) == of_pattern]


def _money_filters(selection: Selection) -> list[str]:
    """Return conditions on the cost of jobs that hours do not have: what charges state, and the kind of payer."""
    found = [has_value(f"w.{key}", values) for key, values in selection.filters if key in keys.CHARGE_KEYS]
    found += [has_value("CAST(NULL AS VARCHAR)", values) for key, values in selection.filters if key == keys.REASON]
    payers = [share_matches(key, values) for key, values in selection.filters if key == "payer"]
    return found + [one.replace("s.payer_kind", "'attempt'") for one in payers]


def selected_placements(opened: OpenBooks, selection: Selection, requested: Sequence[str]) -> str:
    """Return a FROM item with what was held in p, cut to the days, and the names of the requested keys joined to it.

    Keys that only charges have do not narrow it.
    """
    grains = opened.grains
    filters = [(key, values) for key, values in selection.filters if keys.hours_sql(key) and key != "payer"]
    conditions = [has_value(str(keys.hours_sql(key)).replace("f.day", "p.day"), values) for key, values in filters]
    columns, held = "p.*", grains.table("placements")
    if any(key in keys.TIME_KEYS for key, _ in filters):
        held = f"({step_text(PACKAGE, 'days_held', {'placements': held})})"
    if selection.days:
        first, last = ((day - date(1970, 1, 1)).days * 86400 for day in selection.days)
        conditions.append(f"p.starts < {last} AND p.ends > {first}")
        columns = f"p.* REPLACE (greatest(p.starts, {first}) AS starts, least(p.ends, {last}) AS ends)"
    joined = joins(grains, [key for key, _ in filters], "p")
    chosen = f"SELECT {columns} FROM {held} p{joined} WHERE {_all_of(conditions)}"
    return f"({chosen}) p{joins(grains, requested, 'p')}"


def latest_attempts(grains: Grains) -> str:
    """Return a FROM item with each attempt once; one that is in two books is described by the later book."""
    latest = "QUALIFY row_number() OVER (PARTITION BY job, attempt ORDER BY book DESC) = 1"
    return f"(SELECT * FROM {grains.table('attempts')} {latest})" if grains.are_several else grains.table("attempts")
