"""What happens to a request before it is routed: where it comes from, and which job its path names."""

from typing import Any
from urllib.parse import quote, unquote_to_bytes

from litestar import Litestar

from trainfare.serve import forwarded
from trainfare.serve.forwarded import Proxies

JOBS = b"/api/v1/jobs/"
EXPLAIN = b"/explain"


class Entry:
    """The application as a server runs it."""

    def __init__(self, app: Litestar, proxies: tuple[str, ...]) -> None:
        self._app = app
        self._proxies = Proxies(proxies)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            forwarded.apply(scope, self._proxies)
            scope["path"] = job_path(scope["path"], scope.get("raw_path") or b"")
        await self._app(scope, receive, send)


def job_path(path: str, raw_path: bytes) -> str:
    """Return a path of the API whose job id is one segment, whatever characters it has.

    A server decodes %2F to a slash before it routes, and a job id may contain slashes. `as_sent` is the inverse.
    """
    if not raw_path.startswith(JOBS):
        return path
    given = raw_path.removeprefix(JOBS)
    explain = EXPLAIN if given.endswith(EXPLAIN) and given != EXPLAIN else b""
    job = unquote_to_bytes(given.removesuffix(explain)).decode("utf-8", "replace")
    return f"{(JOBS + quote(job, safe='').encode() + explain).decode()}"
