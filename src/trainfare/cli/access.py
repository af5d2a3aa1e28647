"""`trainfare user`, `token` and `audit`: access control and the audit log."""

import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainfare.cli import options, output, published, terminal
from trainfare.cli.output import Listing
from trainfare.errors import TrainfareError
from trainfare.settings.sections import ROLES
from trainfare.store.access import Token, User
from trainfare.store.audit import Entry, current_user
from trainfare.tables import LABELS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from trainfare.store.catalog import Catalog

SCOPES = ("read", "metrics", "events")
role_option = click.option(
    "--role", type=click.Choice(ROLES), default="viewer", show_default=True, help="What the role allows."
)
sees_option = click.option(
    "--sees",
    "visibility",
    multiple=True,
    metavar="KEY:VALUE",
    help="For the role team: whose costs, such as team:nlp. Repeatable.",
)


@click.group()
def user() -> None:
    """Manage users who may sign in to `trainfare serve`."""


@user.command("add")
@click.argument("name")
@options.workspace_option
@role_option
@sees_option
@click.option("--no-password", is_flag=True, help="The user signs in through a proxy only.")
def add_user(name: str, workspace: Path, role: str, visibility: tuple[str, ...], no_password: bool) -> None:
    """Add a user. The password is prompted for, or read from standard input."""
    visible = _visible(role, visibility)
    password = None if no_password else _password()
    with ExitStack() as stack:
        _catalog(stack, workspace).access.add_user(name, role, visible, password, current_user())
    terminal.message(f"{name} may sign in as {role}.")


@user.command("list")
@options.workspace_option
@options.format_option()
def list_users(workspace: Path, format_: str) -> None:
    """List users with their roles and what they may see."""
    with ExitStack() as stack:
        users = _catalog(stack, workspace).access.users()
    columns = ["name", "role", "visibility", "has_password", "created_at", "disabled_at"]
    _show("users", User, users, columns, format_)


@user.command("password")
@click.argument("name")
@options.workspace_option
def change_password(name: str, workspace: Path) -> None:
    """Change a user's password and sign them out everywhere."""
    password = _password()
    with ExitStack() as stack:
        _catalog(stack, workspace).access.set_password(name, password, current_user())
    terminal.message(f"The password of {name} was changed.")


@user.command("disable")
@click.argument("name")
@options.workspace_option
def disable_user(name: str, workspace: Path) -> None:
    """Disable a user and sign them out everywhere."""
    with ExitStack() as stack:
        _catalog(stack, workspace).access.disable(name, current_user())
    terminal.message(f"{name} was disabled.")


@click.group()
def token() -> None:
    """Manage API tokens for `trainfare serve`."""


@token.command("create")
@click.argument("name")
@options.workspace_option
@role_option
@sees_option
@click.option(
    "--scope", type=click.Choice(SCOPES), multiple=True, help="What the token may access. Repeatable.  [default: read]"
)
@click.option(
    "--expires", metavar="DAYS", default="90d", show_default=True, help="Validity in days, such as 30d, or never."
)
def create_token(
    name: str, workspace: Path, role: str, visibility: tuple[str, ...], scope: tuple[str, ...], expires: str
) -> None:
    """Create a token and print it. It is shown only once and stored only as a hash."""
    visible, until = _visible(role, visibility), _expiry(expires)
    with ExitStack() as stack:
        access = _catalog(stack, workspace).access
        secret = access.create_token(name, role, visible, scope or ("read",), until, current_user())
    print(secret)
    terminal.message(f"It {f'expires on {until:%Y-%m-%d}' if until else 'does not expire'}. It is not shown again.")


@token.command("list")
@options.workspace_option
@options.format_option()
def list_tokens(workspace: Path, format_: str) -> None:
    """List tokens, without the secrets themselves."""
    with ExitStack() as stack:
        tokens = _catalog(stack, workspace).access.tokens()
    columns = ["id", "name", "role", "visibility", "scopes", "expires_at", "last_used_at", "revoked_at"]
    _show("tokens", Token, tokens, columns, format_)


@token.command("revoke")
@click.argument("number", type=int)
@options.workspace_option
def revoke_token(number: int, workspace: Path) -> None:
    """Revoke a token."""
    with ExitStack() as stack:
        revoked = _catalog(stack, workspace).access.revoke(number, current_user())
    terminal.message(f"Token {number} ({revoked.name}) was revoked.")


@click.group()
def audit() -> None:
    """Show the audit log: append-only, each entry with the fingerprint of the one before it."""


@audit.command("list")
@options.workspace_option
@options.format_option()
def list_audit(workspace: Path, format_: str) -> None:
    """List every change, in order."""
    with ExitStack() as stack:
        entries = list(_catalog(stack, workspace).audit.entries())
    _show("changes", Entry, entries, ["id", "at", "who", "what", "details"], format_)


@audit.command("verify")
@options.workspace_option
@click.option("--head", metavar="SHA256", help="A fingerprint you recorded earlier: it must be in the log.")
def verify_audit(workspace: Path, head: str | None) -> None:
    """Verify the log from its start. Exit code 1 if an entry was changed, removed or inserted.

    Store the printed fingerprint outside of the catalog: with --head, it proves later that no entry was removed.
    """
    with ExitStack() as stack:
        log = _catalog(stack, workspace).audit
        found = log.verify()
        is_known = head is None or any(entry.sha256 == head for entry in log.entries())
    if what := found.problem:
        terminal.message(f"{what[0].upper()}{what[1:]}.")
        raise click.exceptions.Exit(1)
    if not is_known:
        terminal.message("The recorded fingerprint is not in the log: entries were cut off, or it is another log.")
        raise click.exceptions.Exit(1)
    terminal.message(f"Verified {terminal.count(found.rows, 'row')}.")
    print(found.head)


def _catalog(stack: ExitStack, workspace: Path) -> "Catalog":
    return published.open_store(stack, options.load_settings(workspace), workspace).catalog


def _password() -> str:
    if sys.stdin.isatty():
        text: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return text
    return sys.stdin.readline().rstrip("\n")


def _visible(role: str, visibility: tuple[str, ...]) -> list[str] | None:
    """Return the labels a user may see; None for roles that see everything."""
    if role != "team" and visibility:
        raise TrainfareError("--sees", f"the role {role} sees everything", "Leave it out, or use --role team.")
    if role == "team" and not visibility:
        do = "Give at least one label: --sees team:nlp or --sees cost_center:4711"
        raise TrainfareError("--sees", "the role team needs it", do)
    for one in visibility:
        key, _, value = one.partition(":")
        if key not in LABELS or not value:
            raise TrainfareError(
                "--sees", f"'{one}' is not KEY:VALUE", f"Use one of the keys {', '.join(LABELS)}: team:nlp."
            )
    return list(visibility) if role == "team" else None


def _expiry(expires: str) -> datetime | None:
    if expires == "never":
        return None
    if not (found := re.fullmatch(r"(\d{1,4})d", expires)) or not int(found[1]):
        raise TrainfareError("--expires", f"'{expires}' is not a number of days", "Write 90d, or never.")
    return datetime.now(UTC) + timedelta(days=int(found[1]))


def _show(
    name: str,
    shape: type["DataclassInstance"],
    entries: Sequence["DataclassInstance"],
    columns: list[str],
    format_: str,
) -> None:
    """Print entries; lists of labels are joined, except in JSON."""
    found = [asdict(one) for one in entries]
    if format_ != "json":
        joined = ("visibility", "scopes")
        found = [row | {key: ", ".join(row[key]) for key in joined if row.get(key)} for row in found]
    output.show(Listing(name, found, columns, fields=[one.name for one in fields(shape)]), format_)
