"""What was noticed and what was said about it: which book showed which finding, and which were accepted."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, date, datetime

from sqlalchemy import insert, select

from trainfare.period import Month
from trainfare.store import audit
from trainfare.store.database import Database
from trainfare.store.records import Acceptance, Book
from trainfare.store.schema import ACCEPTANCES, BOOKS, SIGHTINGS


class Attention:
    """The lives of findings, in the catalog. Rows are added, never changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def see(self, book: Book, codes: Iterable[str]) -> None:
        """Remember that this book shows these findings. A book that was looked at before stays as it was seen."""
        with self._database.write() as connection:
            seen = select(SIGHTINGS.c.code).where(SIGHTINGS.c.book_id == book.id)
            known = set(connection.execute(seen).scalars())
            rows = [
                {"book_id": book.id, "code": code, "seen_at": datetime.now(UTC)} for code in sorted(set(codes) - known)
            ]
            if rows:
                connection.execute(insert(SIGHTINGS), rows)

    def seen(self) -> dict[tuple[Month, int], set[str]]:
        """The findings of each book that showed any, by its month and version."""
        wanted = select(BOOKS.c.month, BOOKS.c.version, SIGHTINGS.c.code).join(BOOKS, BOOKS.c.id == SIGHTINGS.c.book_id)
        found: dict[tuple[Month, int], set[str]] = {}
        with self._database.read() as connection:
            for month, version, code in connection.execute(wanted):
                found.setdefault((month, version), set()).add(code)
        return found

    def accept(self, code: str, reason: str, until: date, by: str) -> Acceptance:
        """Let a finding stand up to and with a day. A later word on the same finding replaces an earlier one."""
        accepted = Acceptance(code, reason, until, datetime.now(UTC), by)
        with self._database.write() as connection:
            connection.execute(insert(ACCEPTANCES), asdict(accepted) | {"until": until.isoformat()})
            told = {"code": code, "reason": reason, "until": until.isoformat()}
            audit.append(connection, by, "finding accepted", told)
        return accepted

    def accepted(self, on: date) -> dict[str, Acceptance]:
        """The last word on each finding, where it holds on that day."""
        wanted = select(ACCEPTANCES).order_by(ACCEPTANCES.c.id)
        with self._database.read() as connection:
            rows = connection.execute(wanted).mappings().all()
        last = {
            row["code"]: Acceptance(
                row["code"], row["reason"], date.fromisoformat(row["until"]), row["accepted_at"], row["accepted_by"]
            )
            for row in rows
        }
        return {code: one for code, one in last.items() if one.until >= on}
