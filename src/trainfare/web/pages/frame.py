"""What all pages share: the templates, the way around, and what the time, the cost and the books are."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from trainfare.report import estimated, reconcile
from trainfare.report.opened import Opened
from trainfare.tables import BASES
from trainfare.web.pages.asked import FILTERS
from trainfare.web.pages.desk import Desk
from trainfare.web.pages.panel import Sheet
from trainfare.web.viewer import Viewer

HERE = Path(__file__).parents[1]
NAVIGATION = (
    ("/", "Executive", "e"),
    ("/jobs", "Jobs", "j"),
    ("/debug", "Debug", "d"),
    ("/dollar", "Where from?", "w"),
    ("/books", "Books", "b"),
    ("/findings", "Findings", "f"),
    ("/rules", "Rules", "r"),
)
RANGES = (
    ("now-7d", "now", "Last 7 days"),
    ("now-30d", "now", "Last 30 days"),
    ("now-90d", "now", "Last 90 days"),
    ("now/M", "now/M", "This month"),
    ("now-1M/M", "now-1M/M", "Last month"),
    ("now-3M/M", "now-1M/M", "Last 3 months"),
    ("now-12M/M", "now-1M/M", "Last 12 months"),
    ("now/y", "now/y", "This year"),
)
"""What the picker of times offers: from, to, and its name."""
BASIS_NAMES = {
    "effective": "Effective",
    "billed": "Billed",
    "list": "List",
    "contracted": "Contracted",
}


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["version"] = version()
    made.globals["navigation"] = NAVIGATION
    made.globals["basis_names"] = BASIS_NAMES
    return made


@cache
def version() -> str:
    """What the built scripts are called in addresses, so that a new build is fetched."""
    built = HERE / "static" / "version.txt"
    return built.read_text(encoding="utf-8").strip() if built.is_file() else "none"


def render(template: str, desk: Desk, here: str, sheet: Sheet) -> str:
    """A whole page about the desk's books."""
    return environment().get_template(template).render(desk=desk, here=here, sheet=sheet, **surroundings(desk))


def render_error(viewer: Viewer | None, status: int, what: str, do: str, where: str) -> str:
    return environment().get_template("error.html").render(status=status, what=what, do=do, where=where, viewer=viewer)


def surroundings(desk: Desk) -> dict[str, Any]:
    """What the head of a page says and offers."""
    asked = desk.asked
    return {
        "viewer": desk.viewer,
        "ties": all(desk.ask(ties, books=[book]) for book in desk.books),
        "closed": [book for book in desk.books if desk.closing(book)],
        "expected": desk.ask(estimated.is_any, books=desk.books),
        "through": max((book.complete_through for book in desk.books if book.complete_through), default=None),
        "ranges": [(name, asked.stay(desk.path, from_=start, to=end, page=None)) for start, end, name in RANGES],
        "months": [
            (f"{book.month.start:%B %Y}", asked.stay(desk.path, from_=str(book.month), to=str(book.month), page=None))
            for book in reversed(desk.shelved[-24:])
        ],
        "chips": [
            (key, value, asked.stay(desk.path, page=None, **{key: [one for one in asked.all(key) if one != value]}))
            for key in FILTERS
            for value in asked.all(key)
        ],
    }


def ties(opened: Opened) -> bool:
    """Whether the opened books tie out to the bill on every basis, to the last digit."""
    found = reconcile.reconcile(opened, "source")
    return not any(record[f"{basis}_difference"] for record in found for basis in BASES)
