"""The reference page of the event format, from the code that reads it."""

import json

from layout import grid

from trainfare.sources.telemetry import event_format
from trainfare.sources.telemetry.event_format import Field
from trainfare.sources.telemetry.events import STATED_MEASURES

EXAMPLE = {
    "specversion": "1.0",
    "id": "5f0c2e9a71b3d846-17",
    "source": "trainfare-sdk/node7/4711",
    "type": "trainfare.checkpoint_end",
    "time": "2026-11-18T07:34:00.123456Z",
    "data": {
        "v": 1,
        "job": "resnet-50",
        "attempt": 2,
        "machine": "i-0aa1",
        "seq": 17,
        "step": 4000,
        "started": "2026-11-18T07:33:41.000000Z",
    },
}


def events_parts() -> list[str]:
    """Return the sections of the page."""
    parts = [
        "What training code reports about itself: JSON lines, one event per line, each a "
        "CloudEvent 1.0 in structured JSON. A JSON list of events (a CloudEvents batch) is read, "
        "too. The SDK and `trainfare run` write these files; anything else may. Events are read as a source: see "
        "[report runs from your training code](../howto/sdk.md).",
        f"```json\n{json.dumps(EXAMPLE)}\n```",
        "## Attributes of every event",
        _fields(event_format.ATTRIBUTES),
        "Other attributes are kept. The same event may arrive any number of times, in any order and in several files. One "
        "id with two different contents in a file is an error.",
        "## Data of every event",
        _fields(event_format.DATA),
    ]
    for one in event_format.EVENT_TYPES:
        parts += [f"## `{one.name}`", f"{one.meaning[0].upper()}{one.meaning[1:]}."]
        parts += [_fields(one.fields)] if one.fields else []
    measures = ", ".join(f"`{name}`" for name in STATED_MEASURES)
    return [*parts, "## Measures of usage", f"{measures}. Their units are those of [measurements](files.md)."]


def _fields(fields: tuple[Field, ...]) -> str:
    return grid(
        ("field", "required", "meaning"),
        [(f"`{one.name}`", "yes" if one.is_required else "", one.meaning) for one in fields],
    )
