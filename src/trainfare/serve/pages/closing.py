"""Closing and reopening a month in the browser: confirmation pages, and the forms that do it."""

from typing import Annotated, Any

from litestar import MediaType, Request, Response, get, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body, QueryParameter
from litestar.response import Redirect
from litestar.utils.scope.state import ScopeState

from trainfare.books.close import close_month, preview_closing, reopen_month
from trainfare.errors import TrainfareError
from trainfare.money import decimal_text
from trainfare.report.render import money
from trainfare.serve.api.parameters import select_book
from trainfare.serve.auth.permissions import may_close, may_reopen, sees_everything
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.serve.pages import labels, layout
from trainfare.store import Book

MAX_NOTE_LENGTH = 500

Form = Annotated[dict[str, str], Body(media_type=RequestEncodingType.URL_ENCODED)]


@get(
    "/close",
    media_type=MediaType.HTML,
    include_in_schema=False,
    sync_to_thread=True,
    guards=[sees_everything, may_close],
)
def confirm(
    request: Request[Viewer, Any, Any],
    book_reader: NamedDependency[BookReader],
    month: Annotated[str, QueryParameter(max_length=7)] = "",
) -> Response[str]:
    """Show what would be closed, with a form to confirm it."""
    book = select_book(book_reader, month)
    frozen = preview_closing(book_reader.store, book.month)
    assert frozen is not None, "it was selected among the published books"
    text = (
        layout.environment()
        .get_template("close.html")
        .render(
            book=book,
            totals=_totals(book),
            payers=[
                row | {"cost": money(row["effective"]), "name": labels.payer_kind(row["payer_kind"])}
                for row in frozen.payers
            ],
            findings=[
                row | {"amount": money(row["at_stake"]), "name": labels.finding(row["code"])} for row in frozen.findings
            ],
            rates=frozen.rates,
            estimated={currency: money(amount) for currency, amount in frozen.estimated.items()},
            has_bill=frozen.has_bill,
            closing=book_reader.published.closings.get(book.month),
            back=_monthly_close(book),
            token=ScopeState.from_scope(request.scope).csrf_token,
        )
    )
    return Response(text, media_type=MediaType.HTML, headers={"Cache-Control": "no-store"})


def _totals(book: Book) -> list[dict[str, Any]]:
    """The effective cost of each source and currency, and how far it is from the bill."""
    return [
        {
            "source": total.source,
            "currency": total.currency,
            "cost": money(total.shares),
            "exact": decimal_text(total.shares),
            "difference": money(total.shares - total.charges),
        }
        for total in book.totals
        if total.basis == "effective"
    ]


def _monthly_close(book: Book) -> str:
    return f"/monthly-close?from={book.month}&to={book.month}"


@post("/close", include_in_schema=False, sync_to_thread=True, guards=[sees_everything, may_close])
def close(
    request: Request[Viewer, Any, Any],
    book_reader: NamedDependency[BookReader],
    viewer: NamedDependency[Viewer],
    data: Form,
) -> Redirect:
    """Close the month with the version that was shown. If a newer one was published since, close nothing."""
    newest = select_book(book_reader, data.get("month", ""))
    if str(newest.version) != data.get("version"):
        what = f"version {newest.version} was published in the meantime"
        raise TrainfareError(f"book {newest.month}", what, "Review that version, then close it.")
    note = data.get("note", "")[:MAX_NOTE_LENGTH]
    close_month(book_reader.store, newest.month, viewer.name, note, without_bill=data.get("without_bill") == "yes")
    return Redirect(_monthly_close(newest), status_code=303)


@get(
    "/reopen",
    media_type=MediaType.HTML,
    include_in_schema=False,
    sync_to_thread=True,
    guards=[sees_everything, may_reopen],
)
def confirm_reopening(
    request: Request[Viewer, Any, Any],
    book_reader: NamedDependency[BookReader],
    month: Annotated[str, QueryParameter(max_length=7)] = "",
) -> Response[str]:
    """Show how a month was closed, with a form to reopen it."""
    book = select_book(book_reader, month)
    closing = book_reader.published.closings.get(book.month)
    token = ScopeState.from_scope(request.scope).csrf_token
    template = layout.environment().get_template("reopen.html")
    text = template.render(book=book, closing=closing, back=_monthly_close(book), token=token)
    return Response(text, media_type=MediaType.HTML, headers={"Cache-Control": "no-store"})


@post("/reopen", include_in_schema=False, sync_to_thread=True, guards=[sees_everything, may_reopen])
def reopen(book_reader: NamedDependency[BookReader], viewer: NamedDependency[Viewer], data: Form) -> Redirect:
    """Reopen the last closed month; the audit log keeps who did it and why."""
    book = select_book(book_reader, data.get("month", ""))
    reopen_month(book_reader.store, book.month, viewer.name, data.get("note", "")[:MAX_NOTE_LENGTH])
    return Redirect(_monthly_close(book), status_code=303)


ROUTES = [confirm, close, confirm_reopening, reopen]
