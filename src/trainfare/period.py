"""Months in UTC, half-open."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime


@dataclass(frozen=True, order=True)
class Month:
    """A calendar month in UTC, from its first instant up to but excluding the first of the next month."""

    year: int
    number: int

    @classmethod
    def parse(cls, text: str) -> "Month":
        """Parse `YYYY-MM`; raise ValueError for anything else."""
        found = re.fullmatch(r"(\d{4})-(\d{2})", text)
        if not found or not 1 <= int(found[2]) <= 12 or int(found[1]) < 1:
            raise ValueError(f"'{text}' is not a month")
        return cls(int(found[1]), int(found[2]))

    @classmethod
    def of(cls, day: date) -> "Month":
        return cls(day.year, day.month)

    def next(self) -> "Month":
        return Month(self.year + self.number // 12, self.number % 12 + 1)

    def previous(self) -> "Month":
        return Month(self.year - (self.number == 1), (self.number - 2) % 12 + 1)

    @property
    def start(self) -> datetime:
        return datetime(self.year, self.number, 1, tzinfo=UTC)

    @property
    def end(self) -> datetime:
        return self.next().start

    def __str__(self) -> str:
        return f"{self.year:04d}-{self.number:02d}"
