"""What is kept beside the books to answer quickly: digests and accounts of versions, attached to one database.

They are files below `cache`, named after what they were made from. Each can be deleted at any time, and is made again.
"""

import threading
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from trainfare import reopened
from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.reopened import Account
from trainfare.report import digest
from trainfare.store import Book, Store
from trainfare.web import making


@dataclass(frozen=True)
class Digest:
    """A digest that is attached to the process's database."""

    alias: str
    is_uniform: bool
    days: tuple[date, date] | None


class Kept:
    def __init__(self, store: Store, database: DuckDB) -> None:
        self._store = store
        self._database = database
        self.folder = digest.kept_in(store.workspace)
        self._locks = {"digest": threading.Lock(), "account": threading.Lock()}
        self._digests: dict[str, Digest] = {}
        self._accounts: dict[str, Account] = {}

    def digest(self, book: Book) -> Digest:
        """The digest of a book, made if it is not there yet."""
        path = digest.path_of(self.folder, self._store.files(book))
        with self._locks["digest"]:
            if path.name not in self._digests:
                alias = self._attached("digest", book, path)
                self._digests[path.name] = Digest(
                    alias, digest.is_uniform(self._database, alias), digest.days(self._database, alias)
                )
            return self._digests[path.name]

    def account(self, book: Book) -> Account:
        """The account of a book, run again if it is not there yet."""
        path = self.folder / f"account-{reopened.account_name(book)}.duckdb"
        with self._locks["account"]:
            if path.name not in self._accounts:
                self._accounts[path.name] = reopened.attached(self._database, self._attached("account", book, path))
            return self._accounts[path.name]

    def _attached(self, kind: str, book: Book, path: Path) -> str:
        if not path.exists():
            making.make(kind, self._store.workspace, book, path)
        self._database.run(f'ATTACH {quoted(path)} AS "{path.stem}" (READ_ONLY)')
        return path.stem
