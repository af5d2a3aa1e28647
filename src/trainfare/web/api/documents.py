"""The API's own description: the OpenAPI document, and a page of it that needs nothing from elsewhere."""

from functools import cache
from typing import Any

import msgspec
from litestar import Litestar, MediaType, Request, Response, get

from trainfare.web.api.answer import CSV, PARQUET
from trainfare.web.pages import frame
from trainfare.web.rights import PUBLIC
from trainfare.web.viewer import Viewer

DOCUMENT = "/api/openapi.json"


@get(DOCUMENT, opt=PUBLIC, include_in_schema=False, sync_to_thread=False)
def openapi_document(request: Request[Viewer, Any, Any]) -> Response[bytes]:
    return Response(msgspec.json.encode(document(request.app)), media_type=MediaType.JSON)


@get("/api", opt=PUBLIC, include_in_schema=False, media_type=MediaType.HTML, sync_to_thread=True)
def openapi_page(request: Request[Viewer, Any, Any]) -> str:
    """Every address with its parameters and answers, readable without a script."""
    return frame.environment().get_template("api.html").render(document=document(request.app), url=DOCUMENT)


@cache
def document(app: Litestar) -> dict[str, Any]:
    """The OpenAPI 3.1 document. Every list that can be had as JSON can be had as CSV and Parquet, too."""
    told: dict[str, Any] = app.openapi_schema.to_schema()
    for path in told["paths"].values():
        for operation in path.values():
            twins = any(parameter["name"] == "format" for parameter in operation.get("parameters", []))
            content = operation["responses"].get("200", {}).get("content", {})
            if twins:
                content[CSV] = {"schema": {"type": "string"}}
                content[PARQUET] = {"schema": {"type": "string", "format": "binary"}}
            operation["responses"].get("304", {}).pop("content", None)
    return told


ROUTES = [openapi_document, openapi_page]
