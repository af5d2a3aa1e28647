"""The pages people look at."""

from litestar import MediaType, get
from litestar.types import ControllerRouterHandler

from trainfare.web.books import Shelf
from trainfare.web.viewer import Viewer


@get("/", media_type=MediaType.HTML, include_in_schema=False, sync_to_thread=True)
def index(shelf: Shelf, viewer: Viewer) -> str:
    """A page that says what there is."""
    books = "".join(f"<li>{book.month}, version {book.version}</li>" for book in shelf.current())
    return f"<!doctype html><title>Trainfare</title><h1>Trainfare</h1><p>Books:</p><ul>{books}</ul>"


def routes() -> list[ControllerRouterHandler]:
    """Every page."""
    return [index]
