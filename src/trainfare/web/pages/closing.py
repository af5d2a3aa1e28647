"""Closing a month in the browser: a page that asks once more, and the form that does it."""

from typing import Annotated, Any

from litestar import MediaType, Request, Response, get, post
from litestar.enums import RequestEncodingType
from litestar.params import Body, Parameter
from litestar.response import Redirect
from litestar.utils.scope.state import ScopeState

from trainfare import closing
from trainfare.errors import TrainfareError
from trainfare.report.render import exact
from trainfare.web.api.asked import chosen_book
from trainfare.web.books import Shelf
from trainfare.web.pages import frame
from trainfare.web.rights import may_close, sees_everything
from trainfare.web.viewer import Viewer

LONGEST_NOTE = 500

Form = Annotated[dict[str, str], Body(media_type=RequestEncodingType.URL_ENCODED)]


@get(
    "/close",
    media_type=MediaType.HTML,
    include_in_schema=False,
    sync_to_thread=False,
    guards=[sees_everything, may_close],
)
def ask(
    request: Request[Viewer, Any, Any], shelf: Shelf, month: Annotated[str, Parameter(max_length=7)] = ""
) -> Response[str]:
    """What would be closed, and a form to do it."""
    book = chosen_book(shelf, month)
    totals = [
        (one, exact(one.shares), exact(one.shares - one.charges)) for one in book.totals if one.basis == "effective"
    ]
    told = {"book": book, "totals": totals, "closing": shelf.published.closings.get(book.month)}
    token = ScopeState.from_scope(request.scope).csrf_token
    text = frame.environment().get_template("close.html").render(token=token, **told)
    return Response(text, media_type=MediaType.HTML, headers={"Cache-Control": "no-store"})


@post("/close", include_in_schema=False, sync_to_thread=True, guards=[sees_everything, may_close])
def close(request: Request[Viewer, Any, Any], shelf: Shelf, viewer: Viewer, data: Form) -> Redirect:
    """Close the month with the version that was looked at; another one published meanwhile is not closed unseen."""
    newest = chosen_book(shelf, data.get("month", ""))
    if str(newest.version) != data.get("version"):
        do = "Look at it, then close that one."
        raise TrainfareError(f"book {newest.month}", f"version {newest.version} was published meanwhile", do)
    closing.close(shelf.store, newest.month, viewer.name, data.get("note", "")[:LONGEST_NOTE])
    return Redirect(f"/books?from={newest.month}&to={newest.month}", status_code=303)


ROUTES = [ask, close]
