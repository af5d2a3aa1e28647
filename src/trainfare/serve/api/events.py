"""The endpoint to which jobs send events."""

import asyncio
from typing import Any

import msgspec
from litestar import Request, Response, post
from litestar.di import NamedDependency

from trainfare import quoting
from trainfare.serve.api.responses import PROBLEMS, problem_response
from trainfare.serve.auth.permissions import EVENTS, may_send_events
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.receiver import MAX_BODY_BYTES, Receiver

PATH = "/api/v1/events"


@post(
    PATH,
    opt=EVENTS,
    guards=[may_send_events],
    status_code=200,
    request_max_body_size=MAX_BODY_BYTES,
    responses={status: problem_response(text) for status, text in PROBLEMS.items() if status != 404}
    | {413: problem_response("The request is too large.")},
    tags=["events"],
    summary="Send events",
)
async def send_events(
    request: Request[Viewer, Any, Any], receiver: NamedDependency[Receiver], viewer: NamedDependency[Viewer]
) -> Response[bytes]:
    """Store events of jobs: one CloudEvent per line (application/x-ndjson), or a JSON list of them, gzip or not.

    An event counts once, however often it is sent. The response says how many were accepted and how many were known,
    and lists each that was rejected with its position, what is wrong and what to do. Events of types that are not known
    are kept. A token with a visibility may send events only of jobs with one of its labels.
    """
    body = await request.body()
    kind, encoding = request.headers.get("content-type", ""), request.headers.get("content-encoding", "").lower()
    receipt = await asyncio.to_thread(receiver.receive, viewer, body, kind, encoding)
    content = {"schema_version": 1, **msgspec.to_builtins(receipt)}
    return Response(
        quoting.json_document(msgspec.json.encode(content)),
        media_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


ROUTES = [send_events]
