"""Figures that lead somewhere: a link carries the question it asks, and the page it leads to shows the same figure.

Programs can read both: `data-question` of the link and `data-answers` of the figures on the page. So a test can follow
every link and compare the two. All linked figures are made here.
"""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trainfare.money import decimal_text

TOTAL, ALLOCATED, ESTIMATED, BILLED = "total", "allocated", "allocated estimated", "allocated billed"
"""The cost that a page is about; the part that jobs and labels pay, and of that the estimated and billed parts."""
JOBS, LOST, RATE, INTERVAL, AT_STAKE = "jobs", "lost", "rate", "interval", "at stake"
"""The number of jobs, lost work, cost per hour, seconds between checkpoints, and what a finding is about."""


@dataclass(frozen=True)
class Figure:
    """An exact value and what it measures. Numbers of things have no currency and no cost basis."""

    measure: str
    value: Decimal | int
    currency: str = ""
    basis: str = ""

    @property
    def record(self) -> dict[str, Any]:
        value = decimal_text(self.value) if isinstance(self.value, Decimal) else str(self.value)
        return {"measure": self.measure, "value": value, "currency": self.currency, "basis": self.basis}


@dataclass(frozen=True)
class FigureLink:
    """A link from a figure to the page that shows it, too."""

    href: str
    figure: Figure

    @property
    def record(self) -> dict[str, Any]:
        return {"url": self.href, **self.figure.record}

    @property
    def question(self) -> str:
        return json.dumps(self.record)


Link = str | FigureLink
"""A link from a name alone, or from a figure (or the name beside it)."""


def href(link: Link | None) -> str | None:
    return link.href if isinstance(link, FigureLink) else link


def question(link: Link | None) -> str | None:
    return link.question if isinstance(link, FigureLink) else None


def chart_link(link: Link | None) -> dict[str, Any]:
    """The fields of a linked part of a chart."""
    return {"link": href(link), "question": link.record if isinstance(link, FigureLink) else None}


def answers(figures: tuple[Figure, ...]) -> str:
    return json.dumps([figure.record for figure in figures])
