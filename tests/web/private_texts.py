"""A check for Schemathesis: no response contains a text that the file TRAINFARE_PRIVATE lists, unless it was sent."""

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import schemathesis

PRIVATE = tuple(json.loads(Path(os.environ["TRAINFARE_PRIVATE"]).read_text(encoding="utf-8")))


@schemathesis.check
def nothing_private(ctx: Any, response: Any, case: Any) -> None:
    text = f"{response.headers}\n{response.text}"
    sent = unquote(response.request.url)
    found = [one for one in PRIVATE if one in text and one not in sent]
    assert not found, f"the response contains {found[0]}"
