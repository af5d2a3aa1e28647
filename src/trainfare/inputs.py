"""What books are made from, and how it is told whether that has changed."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from trainfare.adjustments import Adjustment
from trainfare.attribute import rules
from trainfare.config import Config, remembered
from trainfare.engine.protocol import Engine
from trainfare.ledgers import delivered as ledgers
from trainfare.normalise import estimating, facts
from trainfare.normalise.conversion import Conversion
from trainfare.normalise.facts import Kinds
from trainfare.period import Month
from trainfare.sources import deliver
from trainfare.sources.deliver import Delivered

ACCOUNT_VERSION = "8"
"""Part of what a book was made from; raise it when the same inputs give other shares or hours, or a book has other tables."""

LAID = "laid_charges"
"""The table of what ledgers cost, in the engine that takes in files."""


@dataclass(frozen=True)
class Read:
    """The charges that were read: their months, the deliveries that have any of each, their kinds, how they were converted, up to when they
    are laid and estimated, and what of that a book keeps.
    """

    months: list[Month]
    charged: Mapping[Month, set[int]]
    kinds: Kinds
    rates: Conversion
    as_of: datetime
    kept_as_of: str | None

    def with_estimated(self, engine: Engine, config: Config, delivered: Sequence[Delivered]) -> "Read":
        """With the months of jobs after the last bill, where these are to be estimated."""
        if not config.estimate or not self.months:
            return self
        ran = ledgers.months_of(engine.reader, [file for file in delivered if file.kind == "jobs"])
        later = {month for month in ran if self.months[-1] < month and month.start < self.as_of}
        return replace(self, months=sorted({*self.months, *later}))

    def relevant(self, engine: Engine, delivered: Sequence[Delivered], month: Month) -> list[Delivered]:
        """The deliveries that a month is made from."""
        return facts.deliveries_of(engine, delivered, month, self.charged.get(month, set()))

    def digests(self, engine: Engine, config: Config, delivered: Sequence[Delivered]) -> dict[tuple[int, Month], str]:
        """Of bills that speak of several months what they say of each, so that a month is not built again for another one's charges.
        With workers the file as a whole counts: the embedded reader would read all of it alone.
        """
        if engine is not engine.reader:
            return {}
        months = Counter(number for numbers in self.charged.values() for number in numbers)
        return {
            (file.number, month): digest
            for file in delivered
            if file.kind == "bill" and months[file.number] > 1
            for month, digest in deliver.digests(engine.reader, config, file).items()
        }


@dataclass(frozen=True)
class Inputs:
    """What books are made from: everything that was delivered, what of it adjusts closed months, what was read of it, and what bills of
    several months say of each. And which files of the lake are lost, so that the books that had them are made again.
    """

    delivered: Sequence[Delivered]
    late: Sequence[Adjustment]
    read: Read
    digests: Mapping[tuple[int, Month], str]
    lost: set[str]

    def files_of(self, month: Month) -> list[Delivered]:
        """What a month's book is to be opened again from: the files that are there, and those whose word it keeps though they are not."""
        put_away = (file for one in self.late if one.into == month for file in one.put_away)
        return [*{file.number: file for file in (*self.delivered, *put_away)}.values()]

    def fingerprint(self, engine: Engine, config: Config, month: Month, relevant: Sequence[Delivered]) -> str:
        """What a month's book is made from: the settings that matter, the deliveries and the adjustments it is about.

        Of ledgers and of bills of several months only what they say of the month counts: a time entry of another month makes no new version
        of this one. What is estimated goes by the hour, and by the rates of any bill.
        """
        settings = msgspec.json.encode((remembered(config), rules.in_force(config)))
        laid = ledgers.digests(engine.reader, LAID, month) if ledgers.are_there(relevant) else {}
        told = sorted(
            f"{file.source}|{file.kind}|{laid.get(file.number, '')}|{file.settings_sha256}"
            if ledgers.are_there([file])
            else f"{file.source}|{file.kind}|{self.digests.get((file.number, month), file.sha256)}|{file.settings_sha256}"
            for file in relevant
        )
        told += [line for one in self.late if one.into == month for line in one.contents()]
        told.append(self.read.rates.digest(month))
        if is_estimated(engine, config, month):
            told += [
                min(self.read.as_of, month.end).isoformat(),
                *sorted(f.sha256 for f in self.delivered if f.kind == "bill"),
            ]
        parts = [ACCOUNT_VERSION.encode(), settings, *(line.encode() for line in told)]
        return hashlib.sha256(b"|".join(parts)).hexdigest()


def is_estimated(engine: Engine, config: Config, month: Month) -> bool:
    """Whether hours of the month without a bill are to be estimated."""
    return config.estimate and estimating.billed_through(engine, month) < month.end
