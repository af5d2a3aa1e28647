"""`trainfare check`: what is wrong, and what was said about it."""

import getpass
from contextlib import ExitStack, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from rich.text import Text

from trainfare.cli import options, published, terminal
from trainfare.errors import TrainfareError, UnwritableError
from trainfare.report import check as checking
from trainfare.report import records
from trainfare.report.opened import Opened
from trainfare.report.render import money

if TYPE_CHECKING:
    from trainfare.store import Book, Store

COLUMNS = ["code", "state", "rows", "at_stake", "currency", "percent", "limit", "what"]


@click.command()
@click.argument("code", required=False)
@options.workspace_option
@options.month_option
@click.option("--accept", metavar="CODE", help="Let a finding stand; needs --reason and --until.")
@click.option("--reason", help="Why it may stand.")
@click.option("--until", metavar="YYYY-MM-DD", help="The last day on which it may.")
@options.format_option()
def check(
    code: str | None,
    workspace: Path,
    month: str | None,
    accept: str | None,
    reason: str | None,
    until: str | None,
    format_: str,
) -> None:
    """What is wrong in a book, with the money at stake. Exit code 1 if a limit is passed.

    With CODE, every row that shows this finding. Limits stand below [check] in the settings.
    """
    with ExitStack() as stack:
        config = options.settings_of(workspace)
        store = published.open_store(stack, config, workspace)
        book, opened = published.open_latest(stack, store, options.as_month(month))
        if code:
            _show_rows(opened, code.upper(), format_)
            return
        if accept or reason or until:
            _accept(store, opened, accept, reason, until)
        found = _found(store, book, opened, msgspec.structs.asdict(config.check))
    _show(found, book, format_)
    if any(one.breached for one in found):
        raise click.exceptions.Exit(1)


def _found(store: "Store", book: "Book", opened: Opened, limits: dict[str, object]) -> list[checking.Finding]:
    """Check the book, and remember what it shows."""
    attention = store.catalog.attention
    life = checking.Life(attention.seen(), attention.accepted(datetime.now(UTC).date()))
    found = checking.check(opened, limits, life)  # type: ignore[arg-type]
    # Who may only read finds the same; that it was seen is remembered when somebody looks who may write.
    with suppress(UnwritableError):
        attention.see(book, {one.code for one in found if one.state != checking.GONE})
    return found


def _accept(store: "Store", opened: Opened, code: str | None, reason: str | None, until: str | None) -> None:
    """Take down somebody's word on a finding: which, why, and until when."""
    if not (code and reason and until):
        do = "Write: trainfare check --accept F1 --reason '...' --until 2026-12-31"
        raise TrainfareError("check", "a finding is accepted with all of --accept, --reason and --until", do)
    checking.require_checkable(opened)
    there = opened.engine.rows("SELECT code FROM failures UNION SELECT code FROM findings ORDER BY 1")
    if (code.upper(),) not in there:
        listed = ", ".join(name for (name,) in there) or "none"
        raise TrainfareError("--accept", f"the book has no finding '{code}'", f"It has: {listed}.")
    store.catalog.attention.accept(code.upper(), reason, _day(until), getpass.getuser())


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise TrainfareError("--until", f"'{text}' is not a day", "Write it as YYYY-MM-DD.") from None
    if day < datetime.now(UTC).date():
        raise TrainfareError("--until", f"{day} is over", "Name a day to come.")
    return day


def _show_rows(opened: Opened, code: str, format_: str) -> None:
    checking.require_checkable(opened)
    rows = checking.evidence(opened, code)
    if not rows:
        raise TrainfareError(
            "check", f"nothing in the book shows '{code}'", f"See what there is: {options.command('check')}"
        )
    month = str(opened.books[0].month)
    if format_ == "json":
        print(records.as_json("rows", rows, month=month, code=code))
    elif format_ == "csv":
        print(records.as_csv(rows), end="")
    elif format_ == "md":
        print(records.as_markdown(rows, list(rows[0])), end="")
    else:
        terminal.show(records.as_table(f"{code} in {month}", rows, list(rows[0])))


def _show(found: list[checking.Finding], book: "Book", format_: str) -> None:
    told = [one.record() for one in found]
    if format_ == "json":
        print(records.as_json("findings", told, month=str(book.month), version=book.version))
    elif format_ == "csv":
        print(records.as_csv([one | {"evidence": "; ".join(one["evidence"])} for one in told]), end="")
    elif format_ == "md":
        print(records.as_markdown(told, COLUMNS), end="")
    else:
        _tell(found, book)


def _tell(found: list[checking.Finding], book: "Book") -> None:
    """Findings as paragraphs: a table has no room for what to do."""
    over = sum(one.breached for one in found)
    head = f"Book {book.month} version {book.version}: "
    terminal.show(Text(head + (f"{over} beyond the limit" if over else "nothing beyond the limits"), style="bold"))
    for one in found:
        mark = "!" if one.breached else " "
        stake = f", {money(one.at_stake)} {one.currency} at stake" if one.at_stake is not None else ""
        part = f", {one.percent} % (limit {one.limit} %)" if one.percent is not None else ""
        terminal.show(
            Text(f"{mark} {one.code} [{one.state}] {one.what}{stake}{part}", style="bold" if one.breached else "")
        )
        if one.state == checking.ACCEPTED:
            terminal.show(Text(f"    accepted until {one.accepted_until}: {one.accepted_reason}"))
        if one.breached:
            for line in one.evidence:
                terminal.show(Text(f"    {line}"))
            terminal.show(Text(f"    Likely cause: {one.cause}."))
            terminal.show(Text(f"    What to do: {one.remedy}"))
            more = (f"check {one.code}", one.command.removeprefix("trainfare "))
            asked = f" --month {book.month}" if options.is_given("month") else ""
            terminal.show(Text(f"    More: {'; '.join(options.command(line + asked) for line in more)}"))
            if one.repairs:
                terminal.show(Text("    These settings would repair most of it:"))
                terminal.show(Text("\n".join(f"      {line}" for line in one.repairs.splitlines())))
