"""What is asked first of a new version, asked before anybody does: its answers are remembered, and nobody waits for them."""

from contextlib import suppress

from trainfare.errors import TrainfareError
from trainfare.report import cost
from trainfare.report.opened import Opened
from trainfare.web.books import Shelf
from trainfare.web.families import EVERYTHING
from trainfare.web.figures import Figures
from trainfare.web.pages import PAGES
from trainfare.web.pages.asked import read
from trainfare.web.pages.desk import Desk

KEYS = ("team", "owner", "project", "cost_center", "pool", "gpu_model")
"""What a month is grouped by most."""


def ask_first(shelf: Shelf, figures: Figures) -> None:
    """Ask for every page of the newest month, for its costs by the usual keys and for the figures, as those who see everything do.

    What cannot be answered is told to whoever asks for it.
    """
    for path, sheet, _ in PAGES.values():
        with suppress(TrainfareError):
            sheet(Desk(shelf, EVERYTHING, read({}), path))
    with suppress(TrainfareError):
        figures.text(shelf)
        desk = Desk(shelf, EVERYTHING, read({}))
        for key in KEYS:
            desk.ask(_by, desk, key)


def _by(opened: Opened, desk: Desk, key: str) -> None:
    cost.rows(opened, desk.question, [key])
