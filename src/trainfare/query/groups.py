"""Cost and hours per group, as queries over the shares themselves, or over a digest if it has all requested keys."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from trainfare.engine.duckdb import quoted, step_text
from trainfare.query import keys, machine_groups
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import BOOK_PLACEMENTS, DIGEST_TABLES, Selection, has_value, share_matches
from trainfare.tables import LABELS

PACKAGE = "trainfare.query"
BILL_KEYS = frozenset(("rule", "source", "account"))
"""Keys of cost that most questions do not use."""
JOB_PAYERS = "'attempt', 'label'"


@dataclass(frozen=True)
class RateSql:
    """SQL for rates: the time of hours h that a rate divides by, and the rate of a whole job j of a digest."""

    denominator: str
    job_rate: str


@dataclass(frozen=True)
class ReportQueries:
    """The three queries that `cost` joins: cost per group, cost per job and group, and hours per job and group."""

    group_costs: str
    job_costs: str
    job_hours: str


@dataclass(frozen=True)
class DigestReport:
    """What `digest_cost` joins: the cost per group, and the rates and hours of jobs."""

    group_costs: str
    rated: str
    timed: str
    hold_keys: str
    job_sites: str
    only_holds: str


@dataclass(frozen=True)
class DigestFragments:
    """SQL fragments of one question over the tables of a digest, under the names that its steps use."""

    basis: str
    share_keys: str
    hold_keys: str
    money: str
    share_sites: str
    job_sites: str
    where: str
    only_shares: str
    only_holds: str
    currency: str
    job: str
    cost: str

    def step(self, name: str, fields: Iterable[str], **others: str) -> str:
        """Return the text of a step, filled with these fields and other fragments."""
        return step_text(PACKAGE, name, {field: str(getattr(self, field)) for field in fields} | others)

    @property
    def group_costs(self) -> str:
        """Return a SELECT of the cost of jobs and labels per group."""
        fields = ("basis", "share_keys", "money", "share_sites", "where", "only_shares")
        return self.step("digest_group_costs", fields, kinds=JOB_PAYERS)


@dataclass(frozen=True)
class DigestWindow:
    """The days of a question, and a SELECT of the jobs that reach beyond them."""

    first: str
    last: str
    across: str


@dataclass(frozen=True)
class Groups:
    """The keys of a report as SQL over shares s, placements h, attempts a and machines m, and the cost it sums."""

    basis: str
    selection: Selection
    by: Sequence[str]

    @property
    def hour_groups(self) -> list[str]:
        """Return the names of the groups that hours have, too."""
        return [f"k{index}" for index, key in enumerate(self.by) if keys.placement_sql(key)]

    @property
    def _share_keys(self) -> str:
        return "".join(f", {keys.share_sql(key)} AS k{index}" for index, key in enumerate(self.by))

    @property
    def _hold_keys(self) -> str:
        found = ((index, keys.placement_sql(key)) for index, key in enumerate(self.by))
        return "".join(f", {sql} AS k{index}" for index, sql in found if sql)

    @property
    def _requested(self) -> list[str]:
        return [*self.by, *(key for key, _ in self.selection.filters)]

    def share_queries(self, opened: OpenBooks) -> ReportQueries:
        """Return the queries of a report over the shares and placements themselves."""
        selection = _in_digest(opened, self.selection, self.by) or self.selection
        costs = {
            "basis": self.basis,
            "share_keys": self._share_keys,
            "shares": selection.shares,
            "share_joins": selection.tables.join("s", self.by),
        }
        hours = {
            "placements": selection.placements,
            "hold_keys": self._hold_keys,
            "held_names": "".join(f", {name}" for name in self.hour_groups),
            "hold_joins": selection.tables.join("h", self.by),
            "spans": "days" if any(key in keys.TIME_KEYS for key in self.by) else "undivided",
        }
        job_costs = costs | {"kinds": "'attempt'", "job": ", s.job_id AS job"}
        return ReportQueries(
            group_costs=step_text(PACKAGE, "group_costs", costs | {"kinds": JOB_PAYERS, "job": ""}),
            job_costs=step_text(PACKAGE, "group_costs", job_costs),
            job_hours=step_text(PACKAGE, "group_hours", hours),
        )

    def digest_fragments(self, opened: OpenBooks, known: Iterable[str]) -> DigestFragments | None:
        """Return fragments for steps over a digest.

        None without one, or if a requested key is neither known nor a label.
        """
        missing = {*self._requested} - {*known}
        is_full = self.selection.held == BOOK_PLACEMENTS
        if not opened.by_digest or not is_full or any(not key.startswith("label:") for key in missing):
            return None
        by_day = "" if opened.has_only(self.selection.days) else _days(self.selection, "h.day")
        filters = self.selection.filters
        return DigestFragments(
            basis=self.basis,
            share_keys=self._share_keys,
            hold_keys=self._hold_keys,
            money=_cost_table(self._requested),
            share_sites=machine_groups.join(self._requested, "s"),
            job_sites=machine_groups.join(self._requested, "j"),
            where=self.selection.money + _days(self.selection, "day"),
            only_shares=" AND ".join(["true", *(share_matches(key, values) for key, values in filters)]),
            only_holds=_conditions(self.selection, keys.placement_sql) + by_day,
            currency=quoted(self.selection.currency),
            job="j.job" if len(opened.books) == 1 else "j.job_id",
            cost=f"infra_{self.basis}" if self.selection.scope == "infra" else self.basis,
        )

    def label_report(self, opened: OpenBooks, rate: RateSql) -> DigestReport | None:
        """Return a report of one book by labels alone, for which a digest has sums and rates of jobs.

        None for any other.
        """
        digest = self.digest_fragments(opened, LABELS)
        if digest is None or len(opened.books) > 1:
            return None
        if not opened.has_only(self.selection.days):
            window = self.window(digest)
            rated = digest.step(
                "digest_window_parts",
                ("currency",),
                priced=rate.denominator,
                job_rate=rate.job_rate,
                first=window.first,
                last=window.last,
                across=window.across,
            )
            return self._digest_report(digest, rated, "rated", _conditions(self.selection, keys.placement_sql))
        in_currency = f"WHERE j.currency = {digest.currency}"
        rated = f'SELECT j.book, j."set", {rate.job_rate} AS rate FROM digest_jobs j {in_currency}'
        timed = f"(SELECT * FROM digest_set_hours j {in_currency})"
        return self._digest_report(digest, rated, timed, digest.only_holds)

    def machine_group_report(self, opened: OpenBooks, rate: RateSql) -> DigestReport | None:
        """Return a report of one book by labels and machine groups; None for any other."""
        digest = self.digest_fragments(opened, (*LABELS, *keys.MACHINE_GROUP_KEYS))
        if digest is None or not machine_groups.are_available(opened):
            return None
        rated = self.machine_group_jobs(opened, digest, rate)
        return self._digest_report(digest, rated, "rated", _conditions(self.selection, keys.placement_sql))

    def machine_group_jobs(self, opened: OpenBooks, digest: DigestFragments, rate: RateSql) -> str:
        """Return a SELECT of the jobs with their cost and hours per machine group."""
        chosen = machine_groups.digest_selection(opened, self.selection)
        return digest.step(
            "digest_site_jobs",
            ("basis", "cost", "currency"),
            priced=rate.denominator,
            job_rate=rate.job_rate,
            site_groups=machine_groups.group_columns(self.by),
            counted_hours=machine_groups.hours_select("occupied"),
            **chosen.fragments,
        )

    def window(self, digest: DigestFragments) -> DigestWindow:
        """Return the days of the question, which separate jobs within them from those that reach beyond."""
        first, last = (f"DATE '{day}'" for day in self.selection.days or (date.min, date.max))
        across = digest.step("digest_across", ("basis", "currency", "where"), first=first, last=last)
        return DigestWindow(first, last, across)

    def digest_queries(self, opened: OpenBooks) -> ReportQueries | None:
        """Return the queries of a report over a digest; None if it lacks a key.

        It has no machines and no single attempts, and it has the cost of a single job by day and category, not by
        rule, source or account.
        """
        digest = self.digest_fragments(opened, (*LABELS, *keys.TIME_KEYS, "category"))
        if digest is None:
            return None
        if not opened.has_only(self.selection.days) or {*self._requested} & {*keys.TIME_KEYS, "category"}:
            cost_fields = ("basis", "share_keys", "where", "only_shares", "job")
            return ReportQueries(
                group_costs=digest.group_costs,
                job_costs=digest.step("digest_group_job_costs", cost_fields),
                job_hours=digest.step("digest_group_hours", ("currency", "hold_keys", "job", "only_holds")),
            )
        jobs = digest.step("digest_group_jobs", ("cost", "currency", "hold_keys", "job", "only_holds"))
        return ReportQueries(
            group_costs=digest.group_costs,
            job_costs=f"SELECT * FROM ({jobs}) WHERE cost IS NOT NULL",
            job_hours=f"SELECT * FROM ({jobs}) WHERE wall IS NOT NULL",
        )

    def _digest_report(self, digest: DigestFragments, rated: str, timed: str, only_holds: str) -> DigestReport:
        return DigestReport(digest.group_costs, rated, timed, digest.hold_keys, digest.job_sites, only_holds)


def all_shares(opened: OpenBooks) -> str:
    """Return a FROM item with all cost of the books by payer kind, reason, category, rule, source and account."""
    return "digest_costs" if opened.by_digest else "shares"


def selected_shares(opened: OpenBooks, selection: Selection, requested: Sequence[str]) -> str:
    """Return a FROM item with the selected cost in s, and its labels in a and its machine in m if a key needs them."""
    known = {*LABELS, *keys.TIME_KEYS, *keys.CHARGE_KEYS, "payer"}
    used = {*requested, *(key for key, _ in selection.filters)}
    if machine_groups.are_available(opened) and not used & BILL_KEYS:
        known |= {*keys.MACHINE_GROUP_KEYS}
    if opened.by_digest and all(key in known or key.startswith("label:") for key in used):
        joins = f' LEFT JOIN digest_sets a ON a.book = s.book AND a."set" = s."set"{machine_groups.join(used, "s")}'
        where = [selection.money, *(share_matches(key, values) for key, values in selection.filters)]
        chosen = f"SELECT s.* FROM {_cost_table(used)} s{joins} WHERE {' AND '.join(where)}{_days(selection, 's.day')}"
        return f"({chosen}) s{joins}"
    own = _in_digest(opened, selection, requested) or selection
    return f"{own.shares} s{own.tables.join('s', requested)}"


def _in_digest(opened: OpenBooks, selection: Selection, requested: Sequence[str]) -> Selection | None:
    """Return the same selection of a digest.

    None if it lacks a key: it has no single jobs or attempts, and all hours held.
    """
    known = {*LABELS, *keys.TIME_KEYS, *keys.CHARGE_KEYS, *keys.MACHINE_KEYS, "payer"}
    used = {*requested, *(key for key, _ in selection.filters)}
    is_known = all(key in known or key.startswith("label:") for key in used)
    if is_known and opened.by_machine and len(opened.books) == 1 and selection.held == BOOK_PLACEMENTS:
        return replace(selection, tables=DIGEST_TABLES, held=DIGEST_TABLES.placements)
    return None


def _cost_table(requested: Iterable[str]) -> str:
    """Return the smallest table of a digest that has cost by all these keys."""
    if BILL_KEYS & {*requested}:
        return "digest_costs"
    return "digest_site_spent" if {*keys.MACHINE_GROUP_KEYS} & {*requested} else "digest_spent"


def _days(selection: Selection, day: str) -> str:
    if not selection.days:
        return ""
    return f" AND {day} >= DATE '{selection.days[0]}' AND {day} < DATE '{selection.days[1]}'"


def _conditions(selection: Selection, key_sql: Callable[[str], str | None]) -> str:
    held = ((key_sql(key), values) for key, values in selection.filters if key != "payer")
    conditions = (has_value(sql, values) for sql, values in held if sql)
    return " AND ".join(["true", *conditions])
