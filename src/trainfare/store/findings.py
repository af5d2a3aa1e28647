"""The log of findings: which book showed which finding, and which findings were accepted."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, date, datetime

from sqlalchemy import insert, select

from trainfare.period import Month
from trainfare.store import audit
from trainfare.store.database import Database
from trainfare.store.records import Acceptance, Book
from trainfare.store.schema import ACCEPTANCES, BOOKS, FINDING_SIGHTINGS


class FindingLog:
    """Findings by book, and acceptances. Rows are added, never changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, book: Book, codes: Iterable[str]) -> None:
        """Record that this book shows these findings. What was recorded for the book earlier stays."""
        with self._database.write() as connection:
            recorded = select(FINDING_SIGHTINGS.c.code).where(FINDING_SIGHTINGS.c.book_id == book.id)
            known = set(connection.execute(recorded).scalars())
            rows = [
                {"book_id": book.id, "code": code, "seen_at": datetime.now(UTC)} for code in sorted(set(codes) - known)
            ]
            if rows:
                connection.execute(insert(FINDING_SIGHTINGS), rows)

    def sightings(self) -> dict[tuple[Month, int], set[str]]:
        """The findings of each book that showed any, by month and version."""
        wanted = select(BOOKS.c.month, BOOKS.c.version, FINDING_SIGHTINGS.c.code).join(
            BOOKS, BOOKS.c.id == FINDING_SIGHTINGS.c.book_id
        )
        found: dict[tuple[Month, int], set[str]] = {}
        with self._database.read() as connection:
            for month, version, code in connection.execute(wanted):
                found.setdefault((month, version), set()).add(code)
        return found

    def accept(self, code: str, reason: str, until: date, by: str) -> Acceptance:
        """Accept a finding through a day, inclusive. The latest acceptance of a finding replaces earlier ones."""
        accepted = Acceptance(code, reason, until, datetime.now(UTC), by)
        with self._database.write() as connection:
            connection.execute(insert(ACCEPTANCES), asdict(accepted) | {"until": until.isoformat()})
            details = {"code": code, "reason": reason, "until": until.isoformat()}
            audit.append(connection, by, "finding accepted", details)
        return accepted

    def accepted(self, on: date) -> dict[str, Acceptance]:
        """The latest acceptance of each finding, if it is in effect on that day."""
        wanted = select(ACCEPTANCES).order_by(ACCEPTANCES.c.id)
        with self._database.read() as connection:
            rows = connection.execute(wanted).mappings().all()
        latest = {
            row["code"]: Acceptance(
                row["code"], row["reason"], date.fromisoformat(row["until"]), row["accepted_at"], row["accepted_by"]
            )
            for row in rows
        }
        return {code: one for code, one in latest.items() if one.until >= on}
