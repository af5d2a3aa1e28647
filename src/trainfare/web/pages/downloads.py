"""Files to take along: all jobs that are asked for, and statements for filing."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from litestar import Request, Response, get
from litestar.background_tasks import BackgroundTask
from litestar.exceptions import NotFoundException
from litestar.response import File

from trainfare.report.statements import forms
from trainfare.report.statements.statement import statements
from trainfare.web.api.asked import chosen_book
from trainfare.web.books import Shelf
from trainfare.web.pages import jobs
from trainfare.web.pages.desk import sit_down
from trainfare.web.rights import sees_everything
from trainfare.web.viewer import Viewer


@get("/export/{file:str}", include_in_schema=False, sync_to_thread=True)
def export(request: Request[Any, Any, Any], shelf: Shelf, viewer: Viewer, file: str) -> File:
    """All jobs that are asked for, however many, as a file."""
    if file not in ("jobs.csv", "jobs.parquet"):
        raise NotFoundException()
    folder = Path(tempfile.mkdtemp(prefix="trainfare-"))
    gone = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    try:
        jobs.export(sit_down(request, shelf, viewer, ""), folder / file)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return File(folder / file, filename=file, background=gone)


@get("/statements/{file:str}", include_in_schema=False, sync_to_thread=True, guards=[sees_everything])
def statement(request: Request[Any, Any, Any], shelf: Shelf, viewer: Viewer, file: str) -> Response[bytes]:
    """The statement of one cost centre, or of any other label's value, for a month: YYYY-MM.pdf, .xlsx or .html."""
    month, _, form = file.rpartition(".")
    if form not in forms.FORMS:
        raise NotFoundException()
    desk = sit_down(request, shelf, viewer, "")
    book = chosen_book(shelf, month)
    with shelf.opened(viewer, [book]) as opened:
        question = replace(desk.question, days=None, only=(), per="gpu")
        closed = forms.state_of(opened, book, desk.closing(book))
        key, value = desk.asked.one("by", "cost_center"), desk.asked.one("value")
        (made,) = statements(opened, question, key, closed, [value])
    headers = {"Content-Disposition": f'attachment; filename="{quote(made.name)}.{form}"'}
    return Response(forms.render(made, form), media_type=forms.FORMS[form], headers=headers)


ROUTES = [export, statement]
