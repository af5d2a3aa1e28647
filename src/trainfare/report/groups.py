"""What payers pay and jobs hold per group, as queries: from the shares themselves, or from a digest where it knows enough."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from trainfare.engine.duckdb import quoted, step_text
from trainfare.report import keys, sites
from trainfare.report.opened import Opened
from trainfare.report.slice import HELD, NUMBERED, Slice, among, of_share
from trainfare.tables import LABELS

PACKAGE = "trainfare.report"
OF_BILL = frozenset(("rule", "source", "account"))
"""Keys of money that most questions do not ask for."""


@dataclass(frozen=True)
class Groups:
    """The keys of a report in SQL, over shares s, placements h, attempts a and machines m, and the money it sums."""

    basis: str
    slice: Slice
    by: Sequence[str]

    @property
    def held(self) -> list[str]:
        """The names of the groups that hours have, too."""
        return [f"k{index}" for index, key in enumerate(self.by) if keys.of_hold(key)]

    @property
    def fragments(self) -> dict[str, str]:
        holds = ((index, keys.of_hold(key)) for index, key in enumerate(self.by))
        return {
            "basis": self.basis,
            "share_keys": "".join(f", {keys.of_share(key)} AS k{index}" for index, key in enumerate(self.by)),
            "hold_keys": "".join(f", {sql} AS k{index}" for index, sql in holds if sql),
            "held_names": "".join(f", {name}" for name in self.held),
        }

    def from_shares(self, opened: Opened) -> dict[str, str]:
        """The three queries that a report is made of, over the shares and placements themselves."""
        slice_ = _numbered(opened, self.slice, self.by) or self.slice
        told = self.fragments | {
            "shares": slice_.shares,
            "share_joins": slice_.origin.joined("s", self.by),
            "placements": slice_.placements,
            "hold_joins": slice_.origin.joined("h", self.by),
            "spans": "days" if any(key in keys.OF_TIME for key in self.by) else "whole",
        }
        return {
            "group_costs": step_text(PACKAGE, "group_costs", told | {"kinds": "'attempt', 'label'", "job": ""}),
            "job_costs": step_text(PACKAGE, "group_costs", told | {"kinds": "'attempt'", "job": ", s.job_id AS job"}),
            "job_hours": step_text(PACKAGE, "group_hours", told),
        }

    def of_digest(self, opened: Opened, known: Iterable[str]) -> dict[str, str] | None:
        """Fragments for steps over the tables of a digest; None if a key is asked for that these do not know."""
        asked = {*self.by, *(key for key, _ in self.slice.only)} - {*known}
        if not opened.by_digest or self.slice.held != HELD or any(not key.startswith("label:") for key in asked):
            return None
        every = [*self.by, *(key for key, _ in self.slice.only)]
        by_day = "" if opened.has_only(self.slice.days) else _days(self.slice, "h.day")
        return self.fragments | {
            "money": _money(every),
            "share_sites": sites.joined(every, "s"),
            "job_sites": sites.joined(every, "j"),
            "where": self.slice.money + _days(self.slice, "day"),
            "only_shares": " AND ".join(["true", *(of_share(key, values) for key, values in self.slice.only)]),
            "only_holds": _only(self.slice, keys.of_hold) + by_day,
            "currency": quoted(self.slice.currency),
            "job": "j.job" if len(opened.books) == 1 else "j.job_id",
            "kinds": "'attempt', 'label'",
            "cost": f"infra_{self.basis}" if self.slice.scope == "infra" else self.basis,
        }

    def of_labels(self, opened: Opened, priced: dict[str, str]) -> dict[str, str] | None:
        """What a report of one book by labels alone needs, where sums and rates of jobs are kept; None for any other. `priced` is SQL for
        the rate of a whole job j, and for the time h that a rate divides by.
        """
        told = self.of_digest(opened, LABELS)
        if told is None or len(opened.books) > 1:
            return None
        told |= {"group_costs": step_text(PACKAGE, "digest_group_costs", told)} | priced
        if not opened.has_only(self.slice.days):
            told |= self.window(told) | {"only_holds": _only(self.slice, keys.of_hold), "timed": "rated"}
            return told | {"rated": step_text(PACKAGE, "digest_window_parts", told)}
        of = f"WHERE j.currency = {told['currency']}"
        rated = f'SELECT j.book, j."set", {told["job_rate"]} AS rate FROM digest_jobs j {of}'
        return told | {"rated": rated, "timed": f"(SELECT * FROM digest_set_hours j {of})"}

    def of_sites(self, opened: Opened, priced: dict[str, str]) -> dict[str, str] | None:
        """The same for a report by labels and what machines have in common; None for any other."""
        told = self.of_digest(opened, (*LABELS, *keys.OF_SITE))
        if told is None or not sites.are_known(opened):
            return None
        told |= {"group_costs": step_text(PACKAGE, "digest_group_costs", told)} | priced
        told |= {"only_holds": _only(self.slice, keys.of_hold), "timed": "rated"}
        return told | {"rated": sites.jobs(opened, self.slice, self.by, told)}

    def window(self, told: dict[str, str]) -> dict[str, str]:
        """What tells jobs within the days that are asked about from those that reach beyond them, by fragments of a digest."""
        first, last = self.slice.days or (date.min, date.max)
        days = {"first": f"DATE '{first}'", "last": f"DATE '{last}'"}
        return days | {"across": step_text(PACKAGE, "digest_across", told | days)}

    def from_digest(self, opened: Opened) -> dict[str, str] | None:
        """The same three over a digest; None if it does not know enough: it has no machines and no single attempts, and
        what a single job pays it has by day and category, not by rule, source or account.
        """
        told = self.of_digest(opened, (*LABELS, *keys.OF_TIME, "category"))
        if told is None:
            return None
        costs = step_text(PACKAGE, "digest_group_costs", told)
        asked = {*self.by, *(key for key, _ in self.slice.only)}
        if not opened.has_only(self.slice.days) or asked & {*keys.OF_TIME, "category"}:
            return {
                "group_costs": costs,
                "job_costs": step_text(PACKAGE, "digest_group_job_costs", told),
                "job_hours": step_text(PACKAGE, "digest_group_hours", told),
            }
        jobs = step_text(PACKAGE, "digest_group_jobs", told)
        return {
            "group_costs": costs,
            "job_costs": f"SELECT * FROM ({jobs}) WHERE cost IS NOT NULL",
            "job_hours": f"SELECT * FROM ({jobs}) WHERE wall IS NOT NULL",
        }


def every(opened: Opened) -> str:
    """A FROM item with all money of the books by payer kind, reason, category, rule, source, account and currency."""
    return "digest_costs" if opened.by_digest else "shares"


def paid(opened: Opened, slice_: Slice, asked: Sequence[str]) -> str:
    """A FROM item with the money asked about in s, and the labels of its job in a and its machine in m where a key needs them."""
    known = {*LABELS, *keys.OF_TIME, *keys.OF_CHARGE, "payer"}
    every = {*asked, *(key for key, _ in slice_.only)}
    if sites.are_known(opened) and not every & OF_BILL:
        known |= {*keys.OF_SITE}
    if opened.by_digest and all(key in known or key.startswith("label:") for key in every):
        joins = f' LEFT JOIN digest_sets a ON a.book = s.book AND a."set" = s."set"{sites.joined(every, "s")}'
        where = [slice_.money, *(of_share(key, values) for key, values in slice_.only)]
        chosen = f"SELECT s.* FROM {_money(every)} s{joins} WHERE {' AND '.join(where)}{_days(slice_, 's.day')}"
        return f"({chosen}) s{joins}"
    own = _numbered(opened, slice_, asked) or slice_
    return f"{own.shares} s{own.origin.joined('s', asked)}"


def _numbered(opened: Opened, slice_: Slice, asked: Sequence[str]) -> Slice | None:
    """The same slice of a digest, where that has all that is asked about: not single jobs and attempts, and not what was productive."""
    known = {*LABELS, *keys.OF_TIME, *keys.OF_CHARGE, *keys.OF_MACHINE, "payer"}
    every = {*asked, *(key for key, _ in slice_.only)}
    is_known = all(key in known or key.startswith("label:") for key in every)
    if is_known and opened.by_machine and len(opened.books) == 1 and slice_.held == HELD:
        return replace(slice_, origin=NUMBERED, held=NUMBERED.held)
    return None


def _money(asked: Iterable[str]) -> str:
    """The smallest table of a digest that has the money by all these keys."""
    if OF_BILL & {*asked}:
        return "digest_costs"
    return "digest_site_spent" if {*keys.OF_SITE} & {*asked} else "digest_spent"


def _days(slice_: Slice, day: str) -> str:
    return f" AND {day} >= DATE '{slice_.days[0]}' AND {day} < DATE '{slice_.days[1]}'" if slice_.days else ""


def _only(slice_: Slice, of: Callable[[str], str | None]) -> str:
    return " AND ".join(["true", *(among(sql, values) for key, values in slice_.only if (sql := of(key)))])
