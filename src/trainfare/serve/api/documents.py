"""The description of the API: the OpenAPI document, and a page of it that loads nothing from elsewhere."""

from functools import cache
from typing import Any

import msgspec
from litestar import Litestar, MediaType, Request, Response, get

from trainfare.serve.api.responses import CSV, PARQUET
from trainfare.serve.auth.permissions import PUBLIC
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.pages import layout

DOCUMENT = "/api/openapi.json"


@get(DOCUMENT, opt=PUBLIC, include_in_schema=False, sync_to_thread=False)
def openapi_document(request: Request[Viewer, Any, Any]) -> Response[bytes]:
    return Response(msgspec.json.encode(document(request.app)), media_type=MediaType.JSON)


@get("/api", opt=PUBLIC, include_in_schema=False, media_type=MediaType.HTML, sync_to_thread=True)
def openapi_page(request: Request[Viewer, Any, Any]) -> str:
    """Every endpoint with its parameters and responses, readable without JavaScript."""
    return layout.environment().get_template("api.html").render(document=document(request.app), url=DOCUMENT)


@cache
def document(app: Litestar) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document. Every list is available as JSON, CSV and Parquet."""
    schema: dict[str, Any] = app.openapi_schema.to_schema()
    for path in schema["paths"].values():
        for operation in path.values():
            parameters = operation.get("parameters", [])
            parameters.sort(key=lambda parameter: (not parameter.get("required"), parameter["name"] == "format"))
            has_formats = any(parameter["name"] == "format" for parameter in parameters)
            content = operation["responses"].get("200", {}).get("content", {})
            if has_formats:
                content[CSV] = {"schema": {"type": "string"}}
                content[PARQUET] = {"schema": {"type": "string", "format": "binary"}}
            operation["responses"].get("304", {}).pop("content", None)
    return schema


ROUTES = [openapi_document, openapi_page]
