"""`trainfare reconcile`, `diff`, `close` and `reopen`."""

import getpass
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from trainfare.books.close import Frozen, close_month, preview_closing, reopen_month
from trainfare.books.compare import causes, difference, is_same_bill
from trainfare.cli import options, output, published, terminal
from trainfare.cli.output import Listing
from trainfare.errors import IncompleteError
from trainfare.money import decimal_text
from trainfare.period import Month
from trainfare.query.reconcile import KEYS
from trainfare.query.reconcile import reconcile as reconciled
from trainfare.report import records
from trainfare.store import Store, integrity
from trainfare.tables import BASES

PAYER_COLUMNS = ("payer", "rule", "reason", "before", "after", "change", "currency")
BILL_COLUMNS = ("source", "category", "rule", "before", "after", "change", "currency")
PAYER_KIND_COLUMNS = ("payer_kind", "effective", "billed", "currency")
FINDING_COLUMNS = ("code", "what", "rows", "at_stake", "currency")
RATE_COLUMNS = ("converted_from", "currency", "lowest", "highest", "days")
SAME_BILL = "the bill is the same, other rules match its charges"
CHANGED_BILL = "changes on the bill"


@click.command()
@options.workspace_option
@options.month_option
@click.option("--by", type=click.Choice(KEYS), default="source", show_default=True, help="What to group by.")
@options.basis_option
@options.format_option()
def reconcile(workspace: Path, month: str | None, by: str, basis: str, format_: str) -> None:
    """Verify the files of a book and reconcile it with the bill. Exit code 1 if they differ on any cost basis."""
    with ExitStack() as stack:
        config = options.load_settings(workspace)
        store = published.open_store(stack, config, workspace)
        integrity.check_book(store, published.latest(store, options.parse_month(month)))
        _, opened = published.open_latest(stack, store, options.parse_month(month))
        found = reconciled(opened, by)
        book = opened.books[0]
    columns = [by, "currency", "lines", "bill", "shared", "difference"]
    display = [{name: record.get(f"{basis}_{name}", record.get(name)) for name in columns} for record in found]
    title = f"Book {book.month} version {book.version}, {basis} cost"
    facts = {"month": str(book.month), "version": book.version}
    output.show(Listing("rows", found, columns, title, display, facts=facts), format_)
    is_different = any(record[f"{name}_difference"] for record in found for name in BASES)
    if format_ == "table":
        terminal.message("Does NOT tie out." if is_different else "Ties out on every cost basis, to the last digit.")
    if is_different:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("old", type=int, required=False)
@click.argument("new", type=int, required=False)
@options.workspace_option
@options.month_option
@options.basis_option
@options.format_option()
def diff(old: int | None, new: int | None, workspace: Path, month: str | None, basis: str, format_: str) -> None:
    """Compare two versions of a month, by payer and reason.  [default: the last two]"""
    from trainfare.engine.choice import embedded

    with ExitStack() as stack:
        config = options.load_settings(workspace)
        store = published.open_store(stack, config, workspace)
        newest = published.newest(store, options.parse_month(month))
        new = new or newest.version
        old = old or new - 1
        if old < 1:
            raise _single_version(store, newest.month)
        engine = stack.enter_context(embedded())
        before, after = (store.files(store.catalog.book(newest.month, version)) for version in (old, new))
        payers = difference(engine, before, after, basis)
        bill = causes(engine, before, after, basis)
    title = f"Book {newest.month}: version {old} -> {new}, {basis} cost"
    facts = {"month": str(newest.month), "old": old, "new": new, "basis": basis, "bill": _plain(bill)}
    if format_ == "table" and bill:
        heading = SAME_BILL if is_same_bill(bill) else CHANGED_BILL
        terminal.show(records.as_table(f"{title}: {heading}", bill, BILL_COLUMNS))
    if format_ == "table" and not payers:
        terminal.show(f"{title}: no payer's cost changed")
        return
    output.show(Listing("payers", payers, PAYER_COLUMNS, f"{title}: changes by payer", facts=facts), format_)


def _plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: records.json_value(value) for key, value in row.items()} for row in rows]


def _single_version(store: Store, month: Month) -> IncompleteError:
    """Return the error for a month with nothing to compare, naming months that have more than one version."""
    others = [str(book.month) for book in store.catalog.books() if book.version == 2]
    do = "Build it again when something has changed."
    if others:
        line = options.command(f"diff --month {others[-1]}")
        do = f"Months with several versions: {', '.join(others)}. Compare with: {line}"
    return IncompleteError(f"book {month}", "it has only one version", do)


@click.command()
@click.argument("month", metavar="YYYY-MM")
@options.workspace_option
@click.option("--note", default="", help="Why it is closed, or a reference number.")
@click.option("--without-bill", is_flag=True, help="Close a month that has only ledgers or adjustments.")
@click.option("--dry-run", is_flag=True, help="Only show what would be frozen.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation. It is asked for only at a terminal.")
def close(month: str, workspace: Path, note: str, without_bill: bool, dry_run: bool, yes: bool) -> None:
    """Close a month: show what is frozen, then freeze it. Later changes are booked in the next open month."""
    with ExitStack() as stack:
        config = options.load_settings(workspace)
        store = published.open_store(stack, config, workspace)
        wanted = options.parse_month(month, "MONTH")
        assert wanted is not None
        if not dry_run:
            store.catalog.require_writable()
        frozen = preview_closing(store, wanted)
        if frozen and not frozen.book.closed and not frozen.book.is_withdrawn:
            _show_frozen(frozen)
        if dry_run:
            return
        if sys.stdin.isatty() and not yes:
            click.confirm(f"Close {wanted}?", abort=True, err=True)
        closed = close_month(store, wanted, getpass.getuser(), note, without_bill)
    terminal.message(f"{closed.month} is closed with version {closed.version}.")


def _show_frozen(frozen: Frozen) -> None:
    title = f"Book {frozen.book.month} version {frozen.book.version}"
    terminal.show(records.as_table(f"{title}: cost by payer", frozen.payers, PAYER_KIND_COLUMNS))
    if frozen.findings:
        terminal.show(records.as_table(f"{title}: open findings", frozen.findings, FINDING_COLUMNS))
    if frozen.rates:
        terminal.show(records.as_table(f"{title}: exchange rates", frozen.rates, RATE_COLUMNS))
    for currency, amount in frozen.estimated.items():
        terminal.show(f"{title}: {decimal_text(amount)} {currency} is estimated")


@click.command()
@click.argument("month", metavar="YYYY-MM")
@options.workspace_option
@click.option("--note", required=True, help="Why it is reopened. It is kept in the audit log.")
def reopen(month: str, workspace: Path, note: str) -> None:
    """Reopen the last closed month, so that the next build applies today's rules and job logs to it."""
    with ExitStack() as stack:
        config = options.load_settings(workspace)
        store = published.open_store(stack, config, workspace)
        wanted = options.parse_month(month, "MONTH")
        assert wanted is not None
        before = reopen_month(store, wanted, getpass.getuser(), note)
    terminal.message(
        f"{wanted} is open again; it was closed with version {before.version}. Build, review, and close it."
    )
