"""What all pages share: the templates, the navigation, and the page head with its period and status."""

from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from trainfare import quoting
from trainfare.period import Month
from trainfare.query import estimates, reconcile
from trainfare.query.open_books import OpenBooks
from trainfare.serve.pages import figures
from trainfare.serve.pages.context import RequestContext
from trainfare.serve.pages.panel import Page
from trainfare.serve.pages.query import FILTERS
from trainfare.tables import BASES

SERVE = Path(__file__).parents[1]
NAVIGATION = (
    ("/", "Overview", "o"),
    ("/jobs", "Jobs", "j"),
    ("/efficiency", "Efficiency", "e"),
    ("/cost-trace", "Cost trace", "c"),
    ("/monthly-close", "Monthly close", "m"),
    ("/findings", "Findings", "f"),
    ("/rules", "Rules", "r"),
)
"""Path, name and keyboard shortcut of each page."""
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
"""The relative periods that the period picker offers: from, to, name."""
MOST_MONTHS = 24
JOB_TRACE = "/cost-trace/job"
"""The page that the parameter `job` is required on, so it is no filter that can be removed."""
BASIS_NAMES = {
    "effective": "Effective",
    "billed": "Billed",
    "list": "List",
    "contracted": "Contracted",
}


@cache
def environment() -> Environment:
    """The template environment; an undefined name in a template is an error."""
    templates = Environment(
        loader=FileSystemLoader(SERVE / "templates"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        finalize=quoting.visible_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"href": figures.href, "question": figures.question, "answers": figures.answers}
    templates.globals["version"] = version()
    templates.globals["navigation"] = NAVIGATION
    templates.globals["basis_names"] = BASIS_NAMES
    return templates


@cache
def version() -> str:
    """The version of the built scripts. It is part of their URLs, so that browsers fetch a new build."""
    built = SERVE / "static" / "version.txt"
    return built.read_text(encoding="utf-8").strip() if built.is_file() else "none"


def render(template: str, context: RequestContext, page_name: str, page: Page) -> str:
    """Render a page about the books of the requested period."""
    values = {"context": context, "page_name": page_name, "page": page, **period_picker(context)}
    values |= page_head(context, page.own_filters)
    return environment().get_template(template).render(values)


def render_no_data(context: RequestContext) -> str:
    """Render a page that has no data for the requested period, with the picker to choose another one."""
    template = environment().get_template("no_data.html")
    return template.render(context=context, nearest=_nearest(context), **period_picker(context))


def _nearest(context: RequestContext) -> tuple[str, str]:
    """The month with data that is nearest to the requested period, and its link; of two, the later one."""
    window = context.window

    def distance(month: Month) -> timedelta:
        return max(month.start - window.end, window.start - month.end)

    month = min((book.month for book in reversed(context.current_books)), key=distance)
    return f"{month.start:%B %Y}", context.link_here(from_=str(month), to=str(month), page=None)


def render_error(what: str, do: str, where: str) -> str:
    return environment().get_template("error.html").render(what=what, do=do, where=where)


def page_head(context: RequestContext, own_filters: tuple[str, ...] = ()) -> dict[str, Any]:
    """The status line and the active filters, each with the link that removes it."""
    query, books = context.query, context.books
    return {
        "viewer": context.viewer,
        "ties_out": all(context.run(ties_out, books=[book]) for book in books),
        "closed": [book for book in books if context.closing(book)],
        "has_estimates": context.run(estimates.has_estimates, books=books),
        "billed_through": max((book.complete_through for book in books if book.complete_through), default=None),
        "filters": [
            (key, value, context.link_here(page=None, **{key: [one for one in query.get_all(key) if one != value]}))
            for key in (*FILTERS, *own_filters)
            for value in query.get_all(key)
            if (key, context.path) != ("job", JOB_TRACE)
        ],
    }


def period_picker(context: RequestContext) -> dict[str, Any]:
    """The choices of the period picker: relative periods, and the months that have a book, newest first."""
    months = [book.month for book in reversed(context.current_books[-MOST_MONTHS:])]
    return {
        "ranges": [(name, context.link_here(from_=start, to=end, page=None)) for start, end, name in RANGES],
        "months": [
            (f"{month.start:%B %Y}", context.link_here(from_=str(month), to=str(month), page=None)) for month in months
        ],
    }


def ties_out(opened: OpenBooks) -> bool:
    """Whether the open books equal the bill on every cost basis, to the last digit."""
    found = reconcile.reconcile(opened, "source")
    return not any(record[f"{basis}_difference"] for record in found for basis in BASES)
