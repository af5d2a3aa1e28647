"""Conditional HTTP responses from the result cache."""

from collections.abc import Callable
from typing import Any

from litestar import Request, Response

from trainfare.serve.cache.results import ResultCache, ResultKey


def cached_response(
    request: Request[Any, Any, Any],
    results: ResultCache,
    key: ResultKey,
    compute: Callable[[], bytes],
    media_type: str,
    vary: str,
) -> Response[bytes]:
    """Respond with the result of this key, or with 304 if the client already has it."""
    headers = {"ETag": key.etag, "Cache-Control": "private, no-cache", "Vary": vary}
    if key.etag in [tag.strip() for tag in request.headers.get("if-none-match", "").split(",")]:
        return Response(b"", status_code=304, headers=headers)
    return Response(results.get(key, compute), media_type=media_type, headers=headers)
