"""`trainfare verify`: everything that is stored is as it was written."""

from contextlib import ExitStack
from pathlib import Path

import click

from trainfare.cli import options, published, terminal
from trainfare.store import integrity


@click.command()
@options.workspace_option
def verify(workspace: Path) -> None:
    """Read every stored file and every row of the catalog, and report what is not as it was written."""
    with ExitStack() as stack:
        config = options.load_settings(workspace)
        store = published.open_store(stack, config, workspace)
        with terminal.progress() as progress:
            integrity.check_everything(store, progress).raise_if_any()
        files, books = len(store.catalog.referenced_files()), len(store.catalog.books())
    counted = f"{terminal.count(files, 'file')} of {terminal.count(books, 'version')}"
    terminal.message(f"Verified {counted}, their deliveries, the catalog and the audit log.")
