"""The time and the cost that a command is about: --month selects books, --from and --to days, --where cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from trainfare.cli import options
from trainfare.errors import IncompleteError, TrainfareError
from trainfare.period import Month
from trainfare.query import window
from trainfare.query.job_names import with_full_ids
from trainfare.query.open_books import OpenBooks
from trainfare.query.selection import Filters, parse_filters
from trainfare.query.window import Window
from trainfare.settings import scope

Command = TypeVar("Command", bound=Callable[..., Any])
ONE_OF_THEM = "Use --month for books as billed, or --from and --to for days."


@dataclass(frozen=True)
class Period:
    """A month, whose book is meant, or days, of which the last is included. Without both, the newest month."""

    month: Month | None = None
    start: str | None = None
    end: str | None = None

    @property
    def is_days(self) -> bool:
        return self.start is not None or self.end is not None

    def window(self, months: Sequence[Month]) -> Window:
        """Return the days; an end that was not given is that of the months with books, one of which must be covered."""
        start = self.start or f"{months[0].start:%Y-%m-%d}"
        end = self.end or str(months[-1])
        found = replace(window.between(start, end, datetime.now(UTC), ("--from", "--to")), of_books=False)
        if not any(found.overlaps(month) for month in months):
            listed = ", ".join(map(str, months))
            raise IncompleteError("--from", f"there is no book of {found}", f"Months with books: {listed}.")
        return found

    def times(self, months: Sequence[Month]) -> tuple[datetime, datetime]:
        """Return the first time and the one at which it ends, for what has hours; a last day is included."""
        start = self.start or f"{months[0].start:%Y-%m-%d}"
        return window.times_between(start, self.end or str(months[-1]), datetime.now(UTC), ("--from", "--to"))


def period_options(command: Command) -> Command:
    """Add --month, --from and --to."""
    last = click.option("--to", "end", metavar="DAY", help="The last day, included.  [default: the newest book's last]")
    first = click.option("--from", "start", metavar="DAY", help="The first day, such as 2026-10-05 or now-7d.")
    return options.month_option(first(last(command)))


def where_option(command: Command) -> Command:
    return click.option(
        "--where",
        multiple=True,
        metavar="KEY=VALUE[,VALUE]",
        help="Only this cost, such as team=nlp,vision or category=storage. Repeatable.",
    )(command)


def filters(where: Sequence[str], opened: OpenBooks) -> Filters:
    """Return what --where selects; several of them must all match."""
    conditions = [one for text in where for one in scope.parse(text, "--where")]
    return with_full_ids(opened, parse_filters(conditions, opened.engine, "--where"))


def parse(month: str | None, start: str | None, end: str | None) -> Period:
    """Return the period of a command."""
    if month is not None and (start is not None or end is not None):
        raise TrainfareError("--month", "it cannot be combined with --from or --to", ONE_OF_THEM)
    return Period(options.parse_month(month), start, end)
