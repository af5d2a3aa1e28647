"""Downloads: all matching jobs as a file, and statements."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from litestar import Request, Response, get
from litestar.background_tasks import BackgroundTask
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from litestar.response import File

from trainfare.report.statements import formats
from trainfare.report.statements.statement import statements
from trainfare.serve.api.parameters import select_book
from trainfare.serve.auth.permissions import sees_everything
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.serve.pages import jobs
from trainfare.serve.pages.context import request_context


@get("/export/{file:str}", include_in_schema=False, sync_to_thread=True)
def export(
    request: Request[Any, Any, Any],
    book_reader: NamedDependency[BookReader],
    viewer: NamedDependency[Viewer],
    file: FromPath[str],
) -> File:
    """All matching jobs, regardless of paging, as a CSV or Parquet file."""
    if file not in ("jobs.csv", "jobs.parquet"):
        raise NotFoundException()
    folder = Path(tempfile.mkdtemp(prefix="trainfare-"))
    cleanup = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    try:
        jobs.export(request_context(request, book_reader, viewer, ""), folder / file)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return File(folder / file, filename=file, background=cleanup)


@get("/statements/{file:str}", include_in_schema=False, sync_to_thread=True, guards=[sees_everything])
def statement(
    request: Request[Any, Any, Any],
    book_reader: NamedDependency[BookReader],
    viewer: NamedDependency[Viewer],
    file: FromPath[str],
) -> Response[bytes]:
    """The statement of one label value, by default a cost center, for a month: YYYY-MM.pdf, .xlsx or .html."""
    month, _, form = file.rpartition(".")
    if form not in formats.FORMATS:
        raise NotFoundException()
    context = request_context(request, book_reader, viewer, "")
    book = select_book(book_reader, month)
    with book_reader.open(viewer, [book]) as opened:
        question = replace(context.question, days=None, filters=(), per="gpu")
        closed = formats.book_state(opened, book, context.closing(book))
        key, value = context.query.get("by", "cost_center"), context.query.get("value")
        (found,) = statements(opened, question, key, closed, [value])
    headers = {"Content-Disposition": f'attachment; filename="{quote(found.name)}.{form}"'}
    return Response(formats.render(found, form), media_type=formats.FORMATS[form], headers=headers)


ROUTES = [export, statement]
