"""`trainfare reconcile`, `diff` and `close`."""

import getpass
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from trainfare import closing
from trainfare.cli import options, published, terminal
from trainfare.errors import IncompleteError
from trainfare.period import Month
from trainfare.report import records
from trainfare.report.difference import causes, difference, is_same_bill
from trainfare.report.reconcile import KEYS
from trainfare.report.reconcile import reconcile as reconciled
from trainfare.store import Store
from trainfare.tables import BASES


@click.command()
@options.workspace_option
@options.month_option
@click.option("--by", type=click.Choice(KEYS), default="source", show_default=True, help="What to tie out by.")
@click.option(
    "--basis", type=click.Choice(BASES), default="effective", show_default=True, help="Which cost the table shows."
)
@options.format_option()
def reconcile(workspace: Path, month: str | None, by: str, basis: str, format_: str) -> None:
    """Tie a book out to the bill. Exit code 1 if anything is between them."""
    with ExitStack() as stack:
        config = options.settings_of(workspace)
        opened = published.open_book(stack, config, workspace, options.as_month(month))
        found = reconciled(opened, by)
        book = opened.books[0]
    columns = [by, "currency", "lines", "bill", "shared", "difference"]
    title = f"Book {book.month} version {book.version}, {basis} cost"
    told = found
    if format_ in ("table", "md"):
        told = [{name: record.get(f"{basis}_{name}", record.get(name)) for name in columns} for record in found]
    _show(told, columns, title, format_, "rows", month=str(book.month), version=book.version)
    off = [record for record in found if any(record[f"{name}_difference"] for name in BASES)]
    if format_ == "table":
        terminal.talk("Does NOT tie out." if off else "Ties out on every basis, to the last digit.")
    if off:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("old", type=int, required=False)
@click.argument("new", type=int, required=False)
@options.workspace_option
@options.month_option
@click.option("--basis", type=click.Choice(BASES), default="effective", show_default=True, help="Which cost.")
@options.format_option()
def diff(old: int | None, new: int | None, workspace: Path, month: str | None, basis: str, format_: str) -> None:
    """What changed between two versions of a month, by payer and reason.  [default: the last two]"""
    with ExitStack() as stack:
        config = options.settings_of(workspace)
        store = published.open_store(stack, config, workspace)
        newest = published.newest(store, options.as_month(month))
        new = new or newest.version
        old = old or new - 1
        if old < 1:
            raise _one_version(store, newest.month)
        from trainfare.pipeline import fresh_engine

        engine = stack.enter_context(fresh_engine())
        before, after = (store.files(store.catalog.book(newest.month, version)) for version in (old, new))
        found = difference(engine, before, after, basis)
        bill = causes(engine, before, after, basis)
    title = f"Book {newest.month}: version {old} -> {new}, {basis} cost"
    columns = ["payer", "rule", "reason", "before", "after", "change", "currency"]
    if format_ == "table":
        if bill:
            terminal.show(
                records.as_table(
                    f"{title}: {_SAME_BILL if is_same_bill(bill) else _OTHER_BILL}",
                    bill,
                    ["source", "category", "rule", "before", "after", "change", "currency"],
                )
            )
        terminal.show(
            records.as_table(f"{title}: who pays differently", found, columns)
            if found
            else f"{title}: nobody pays differently"
        )
        return
    _show(
        found,
        columns,
        title,
        format_,
        "payers",
        month=str(newest.month),
        old=old,
        new=new,
        basis=basis,
        bill=[{key: records.plain(value) for key, value in record.items()} for record in bill],
    )


_SAME_BILL = "the bill is the same, other rules take its charges"
_OTHER_BILL = "what is different on the bill"


def _one_version(store: Store, month: Month) -> IncompleteError:
    """There is nothing to compare in this month; say in which there is."""
    others = [str(book.month) for book in store.catalog.books() if book.version == 2]
    do = "Build it again when something has changed."
    if others:
        line = options.command(f"diff --month {others[-1]}")
        do = f"There are two versions or more of {', '.join(others)}: {line}"
    return IncompleteError(f"book {month}", "it has only one version", do)


@click.command()
@click.argument("month", metavar="YYYY-MM")
@options.workspace_option
@click.option("--note", default="", help="Why, or under which number it was filed.")
def close(month: str, workspace: Path, note: str) -> None:
    """Close a month: its book does not change any more, and what comes later is booked in the next open one."""
    with ExitStack() as stack:
        config = options.settings_of(workspace)
        store = published.open_store(stack, config, workspace)
        wanted = options.as_month(month, "MONTH")
        assert wanted is not None
        closed = closing.close(store, wanted, getpass.getuser(), note)
    terminal.talk(f"{closed.month} is closed with version {closed.version}.")


def _show(
    found: Sequence[dict[str, Any]], columns: list[str], title: str, format_: str, name: str, **beside: Any
) -> None:
    if format_ == "json":
        print(records.as_json(name, found, **beside))
    elif format_ == "csv":
        print(records.as_csv(found), end="")
    elif format_ == "md":
        print(records.as_markdown(found, columns), end="")
    else:
        terminal.show(records.as_table(title, found, columns))
