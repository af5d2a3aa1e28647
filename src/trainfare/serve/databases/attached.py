"""Database files derived from published versions (digests and accounts), attached to the database of the process.

They are stored in the workspace folder `cache`, named after what they were built from. Each can be deleted at any time
and is then rebuilt.
"""

import threading
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from trainfare.books import reopen
from trainfare.books.reopen import Account
from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.query import digest
from trainfare.serve.databases import build
from trainfare.store import Book, Store


@dataclass(frozen=True)
class Digest:
    """A digest that is attached to the database of the process."""

    alias: str
    is_uniform: bool
    days: tuple[date, date] | None


class AttachedDatabases:
    def __init__(self, store: Store, database: DuckDB) -> None:
        self._store = store
        self._database = database
        self.folder = digest.kept_in(store.workspace)
        self._locks = {"digest": threading.Lock(), "account": threading.Lock()}
        self._digests: dict[str, Digest] = {}
        self._accounts: dict[str, Account] = {}

    def digest(self, book: Book) -> Digest:
        """Return the digest of a book; build it if it does not exist."""
        path = digest.path_of(self.folder, self._store.files(book))
        with self._locks["digest"]:
            if path.name not in self._digests:
                alias = self._attach("digest", book, path)
                self._digests[path.name] = Digest(
                    alias, digest.is_uniform(self._database, alias), digest.days(self._database, alias)
                )
            return self._digests[path.name]

    def account(self, book: Book) -> Account:
        """Return the account of a book; run it again if it is not stored."""
        path = self.folder / f"account-{reopen.account_name(book)}.duckdb"
        with self._locks["account"]:
            if path.name not in self._accounts:
                self._accounts[path.name] = reopen.attached(self._database, self._attach("account", book, path))
            return self._accounts[path.name]

    def _attach(self, kind: str, book: Book, path: Path) -> str:
        """Attach a database file, built if necessary, and return its alias."""
        if not path.exists():
            build.build(kind, self._store.workspace, book, path)
        self._database.run(f'ATTACH {quoted(path)} AS "{path.stem}" (READ_ONLY)')
        return path.stem
