"""`trainfare user`, `token` and `audit`: who may come in, and who changed what."""

import re
import sys
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trainfare.cli import options, published, terminal
from trainfare.errors import TrainfareError
from trainfare.report import records
from trainfare.sections import ROLES
from trainfare.tables import LABELS

if TYPE_CHECKING:
    from trainfare.store.catalog import Catalog

SCOPES = ("read", "metrics")
role_option = click.option(
    "--role", type=click.Choice(ROLES), default="viewer", show_default=True, help="What they may do."
)
sees_option = click.option(
    "--sees", multiple=True, metavar="KEY:VALUE", help="For team: whose money, such as team:nlp. May be given again."
)


@click.group()
def user() -> None:
    """People who may sign in to `trainfare serve`."""


@user.command("add")
@click.argument("name")
@options.workspace_option
@role_option
@sees_option
@click.option("--no-password", is_flag=True, help="A proxy says who they are.")
def add_user(name: str, workspace: Path, role: str, sees: tuple[str, ...], no_password: bool) -> None:
    """Add a person. Their password is asked for, or read from standard input."""
    seen = _seen(role, sees)
    password = None if no_password else _password()
    with ExitStack() as stack:
        _catalog(stack, workspace).access.add_user(name, role, seen, password, _person())
    terminal.talk(f"{name} may sign in as {role}.")


@user.command("list")
@options.workspace_option
@options.format_option()
def list_users(workspace: Path, format_: str) -> None:
    """Everybody, and what they may see."""
    with ExitStack() as stack:
        found = [asdict(one) for one in _catalog(stack, workspace).access.users()]
    columns = ["name", "role", "sees", "has_password", "created_at", "disabled_at"]
    _show("users", found, columns, format_)


@user.command("password")
@click.argument("name")
@options.workspace_option
def change_password(name: str, workspace: Path) -> None:
    """Give a person another password, and sign them out everywhere."""
    password = _password()
    with ExitStack() as stack:
        _catalog(stack, workspace).access.set_password(name, password, _person())
    terminal.talk(f"{name} has another password.")


@user.command("disable")
@click.argument("name")
@options.workspace_option
def disable_user(name: str, workspace: Path) -> None:
    """Let a person in no more, and sign them out everywhere."""
    with ExitStack() as stack:
        _catalog(stack, workspace).access.disable(name, _person())
    terminal.talk(f"{name} is let in no more.")


@click.group()
def token() -> None:
    """Tokens with which programs ask `trainfare serve`."""


@token.command("create")
@click.argument("name")
@options.workspace_option
@role_option
@sees_option
@click.option("--scope", type=click.Choice(SCOPES), multiple=True, help="What it is for.  [default: read]")
@click.option("--expires", metavar="DAYS", default="90d", show_default=True, help="Such as 30d, or never.")
def create_token(
    name: str, workspace: Path, role: str, sees: tuple[str, ...], scope: tuple[str, ...], expires: str
) -> None:
    """Make a token and print it. It is shown this once, and kept nowhere."""
    seen, until = _seen(role, sees), _until(expires)
    with ExitStack() as stack:
        access = _catalog(stack, workspace).access
        made = access.create_token(name, role, seen, scope or ("read",), until, _person())
    print(made)
    terminal.talk(f"It counts {f'until {until:%Y-%m-%d}' if until else 'for ever'}. It is not shown again.")


@token.command("list")
@options.workspace_option
@options.format_option()
def list_tokens(workspace: Path, format_: str) -> None:
    """Every token, but for the token itself."""
    with ExitStack() as stack:
        found = [asdict(one) for one in _catalog(stack, workspace).access.tokens()]
    columns = ["id", "name", "role", "sees", "scopes", "expires_at", "last_used_at", "revoked_at"]
    _show("tokens", found, columns, format_)


@token.command("revoke")
@click.argument("number", type=int)
@options.workspace_option
def revoke_token(number: int, workspace: Path) -> None:
    """Let a token count no more."""
    with ExitStack() as stack:
        gone = _catalog(stack, workspace).access.revoke(number, _person())
    terminal.talk(f"Token {number} ({gone.name}) counts no more.")


@click.group()
def audit() -> None:
    """Who changed what: a log that only grows, each row with the fingerprint of the one before it."""


@audit.command("list")
@options.workspace_option
@options.format_option()
def list_audit(workspace: Path, format_: str) -> None:
    """Every change, in order."""
    with ExitStack() as stack:
        found = [asdict(one) for one in _catalog(stack, workspace).audit.entries()]
    _show("changes", found, ["id", "at", "who", "what", "details"], format_)


@audit.command("verify")
@options.workspace_option
@click.option("--head", metavar="SHA256", help="A fingerprint you kept: it must be in the log.")
def verify_audit(workspace: Path, head: str | None) -> None:
    """Follow the log from its start. Exit code 1 if a row was changed, taken out or put in."""
    with ExitStack() as stack:
        log = _catalog(stack, workspace).audit
        found = log.verify()
        is_known = head is None or any(entry.sha256 == head for entry in log.entries())
    if found.broken is not None:
        terminal.talk(f"Row {found.broken} does not follow from the one before it: the log was changed.")
        raise click.exceptions.Exit(1)
    if not is_known:
        terminal.talk("The fingerprint you kept is not in the log: rows were cut off, or it is another log.")
        raise click.exceptions.Exit(1)
    terminal.talk(f"{found.rows} rows, each following from the one before it.")
    print(found.head)


def _catalog(stack: ExitStack, workspace: Path) -> "Catalog":
    return published.open_store(stack, options.settings_of(workspace), workspace).catalog


def _person() -> str:
    from trainfare.store.audit import person

    return person()


def _password() -> str:
    if sys.stdin.isatty():
        text: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return text
    return sys.stdin.readline().rstrip("\n")


def _seen(role: str, sees: tuple[str, ...]) -> list[str] | None:
    """What somebody may see: a team what is named, anybody else everything."""
    if role != "team" and sees:
        raise TrainfareError("--sees", f"a {role} sees everything", "Leave it out, or use --role team.")
    if role == "team" and not sees:
        do = "Name at least one label: --sees team:nlp or --sees cost_center:4711"
        raise TrainfareError("--sees", "a team sees nothing without it", do)
    for one in sees:
        key, _, value = one.partition(":")
        if key not in LABELS or not value:
            raise TrainfareError(
                "--sees", f"'{one}' is no label and value", f"Use one of {', '.join(LABELS)}: team:nlp."
            )
    return list(sees) if role == "team" else None


def _until(expires: str) -> datetime | None:
    if expires == "never":
        return None
    if not (found := re.fullmatch(r"(\d{1,4})d", expires)) or not int(found[1]):
        raise TrainfareError("--expires", f"'{expires}' is no number of days", "Write 90d, or never.")
    return datetime.now(UTC) + timedelta(days=int(found[1]))


def _show(name: str, found: list[dict[str, Any]], columns: list[str], format_: str) -> None:
    told = [row | {key: ", ".join(row[key]) for key in ("sees", "scopes") if row.get(key)} for row in found]
    if format_ == "json":
        print(records.as_json(name, found))
    elif format_ == "csv":
        print(records.as_csv(told), end="")
    elif format_ == "md":
        print(records.as_markdown(told, columns), end="")
    else:
        terminal.show(records.as_table(name.capitalize(), told, columns))
