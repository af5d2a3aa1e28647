"""`trainfare check`: findings of a book against their thresholds, and the acceptance of findings."""

import getpass
from contextlib import ExitStack, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from rich.text import Text

from trainfare.cli import options, output, published, terminal
from trainfare.cli.output import Listing
from trainfare.errors import TrainfareError, UnwritableError
from trainfare.findings.failure_modes import FAILURE_MODES
from trainfare.query import check as checking
from trainfare.query.open_books import OpenBooks
from trainfare.report.render import money
from trainfare.store import integrity

if TYPE_CHECKING:
    from trainfare.store import Book, Store

COLUMNS = ["code", "state", "rows", "at_stake", "currency", "percent", "limit", "what"]
NAMES = {mode.code: mode.query.replace("_", " ") for mode in FAILURE_MODES}


@click.command()
@click.argument("code", required=False)
@options.workspace_option
@options.month_option
@click.option("--accept", metavar="CODE", help="Accept a finding; needs --reason and --until.")
@click.option("--reason", help="Why the finding is accepted.")
@click.option("--until", metavar="YYYY-MM-DD", help="The last day on which it is accepted.")
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
    """Show the findings of a book with the money at stake. Exit code 1 if a threshold is exceeded.

    With CODE, show every row of this finding. Set thresholds in [check]. To accept a finding, use --accept.
    """
    with ExitStack() as stack:
        config = options.load_settings(workspace)
        store = published.open_store(stack, config, workspace)
        integrity.check_book(store, published.latest(store, options.parse_month(month)))
        book, opened = published.open_latest(stack, store, options.parse_month(month))
        if code:
            _show_rows(opened, code.upper(), format_)
            return
        if accept or reason or until:
            _accept(store, opened, accept, reason, until)
        found = _findings(store, book, opened, msgspec.structs.asdict(config.check))
    _show(found, book, format_)
    if any(one.breached for one in found):
        raise click.exceptions.Exit(1)


def _findings(store: "Store", book: "Book", opened: OpenBooks, limits: dict[str, object]) -> list[checking.Finding]:
    """Check the book, and record the findings in the log."""
    finding_log = store.catalog.finding_log
    states = checking.FindingStates(finding_log.sightings(), finding_log.accepted(datetime.now(UTC).date()))
    found = checking.check(opened, limits, states)  # type: ignore[arg-type]
    # With read-only access the findings are the same; they are recorded when a user with write access checks the book.
    with suppress(UnwritableError):
        finding_log.record(book, {one.code for one in found if one.state != checking.GONE})
    return found


def _accept(store: "Store", opened: OpenBooks, code: str | None, reason: str | None, until: str | None) -> None:
    """Record the acceptance of a finding, with its reason and its last day."""
    if not (code and reason and until):
        do = "Write: trainfare check --accept F1 --reason '...' --until 2026-12-31"
        raise TrainfareError("check", "accepting a finding needs --accept, --reason and --until", do)
    checking.require_checkable(opened)
    codes = [code for (code,) in opened.engine.rows("SELECT code FROM failure_modes UNION SELECT code FROM findings")]
    if code.upper() not in codes:
        listed = ", ".join(sorted(codes)) or "none"
        raise TrainfareError("--accept", f"the book has no finding '{code}'", f"Its findings: {listed}.")
    store.catalog.finding_log.accept(code.upper(), reason, _day(until), getpass.getuser())


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise TrainfareError("--until", f"'{text}' is not a day", "Write it as YYYY-MM-DD.") from None
    if day < datetime.now(UTC).date():
        raise TrainfareError("--until", f"{day} is in the past", "Give today or a later day.")
    return day


def _show_rows(opened: OpenBooks, code: str, format_: str) -> None:
    checking.require_checkable(opened)
    rows = checking.evidence(opened, code)
    if not rows:
        do = f"List its findings with: {options.command('check')}"
        raise TrainfareError("check", f"the book has no finding '{code}'", do)
    month = str(opened.books[0].month)
    facts = {"month": month, "code": code}
    output.show(Listing("rows", rows, list(rows[0]), f"{_title(code)} in {month}", facts=facts), format_)


def _show(found: list[checking.Finding], book: "Book", format_: str) -> None:
    if format_ == "table":
        _show_paragraphs(found, book)
        return
    rows = [one.record() for one in found]
    if format_ == "csv":
        rows = [row | {"evidence": "; ".join(row["evidence"])} for row in rows]
    facts = {"month": str(book.month), "version": book.version}
    fields = list(checking.Finding.__dataclass_fields__)
    output.show(Listing("findings", rows, COLUMNS, fields=fields, facts=facts), format_)


def _title(code: str) -> str:
    """Return the name of a failure mode before its code; other findings have only a code."""
    return f"{NAMES[code]} ({code})" if code in NAMES else code


def _show_paragraphs(found: list[checking.Finding], book: "Book") -> None:
    """Print findings as paragraphs: a table has no room for remedies."""
    over = sum(one.breached for one in found)
    status = f"{terminal.count(over, 'finding')} beyond the threshold" if over else "no finding beyond its threshold"
    terminal.show(Text(f"Book {book.month} version {book.version}: {status}", style="bold"))
    for one in found:
        mark, style = ("!", "bold") if one.breached else (" ", "")
        stake = f", {money(one.at_stake)} {one.currency} at stake" if one.at_stake is not None else ""
        part = f", {one.percent} % (threshold {one.limit} %)" if one.percent is not None else ""
        terminal.show(Text(f"{mark} {_title(one.code)} [{one.state}] {one.what}{stake}{part}", style=style))
        if one.state == checking.ACCEPTED:
            terminal.show(Text(f"    accepted until {one.accepted_until}: {one.accepted_reason}"))
        for line in _details(one, book) if one.breached else _fixes(one):
            terminal.show(Text(f"    {line}"))


def _details(finding: checking.Finding, book: "Book") -> list[str]:
    """Return the evidence, cause, remedy and next commands of a finding."""
    month = f" --month {book.month}" if options.was_given("month") else ""
    commands = (f"check {finding.code}", finding.command.removeprefix("trainfare "))
    return [
        *finding.evidence,
        f"Likely cause: {finding.cause}.",
        f"What to do: {finding.remedy}",
        f"More: {'; '.join(options.command(line + month) for line in commands)}",
        *_fixes(finding),
    ]


def _fixes(finding: checking.Finding) -> list[str]:
    """Return the settings that would fix most of a finding, beyond its threshold or not; nothing if none are known."""
    if not finding.fixes:
        return []
    return ["These settings would fix most of it:", *(f"  {line}" for line in finding.fixes.splitlines())]
