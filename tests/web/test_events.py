"""Events over HTTP: from the SDK and from spools to a real server, with tokens, and from there into a book."""

import gzip
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from workspace.folder import Workspace

from .copies import copy
from .server import COMMAND, Answer, Server, serving
from .test_access import PASSWORD, trainfare

PATH = "/api/v1/events"
LINES = {"Content-Type": "application/x-ndjson"}


class Receiving:
    """A server that people sign in to, and tokens for it."""

    def __init__(self, workspace: Workspace, server: Server, tokens: dict[str, str]) -> None:
        self.workspace, self.server, self.tokens = workspace, server, tokens

    def send(self, token: str | None, body: bytes, headers: dict[str, str] | None = None) -> Answer:
        authorization = {"Authorization": f"Bearer {self.tokens[token]}"} if token else {}
        return self.server.ask(PATH, "POST", LINES | authorization | (headers or {}), body)


@pytest.fixture(scope="module")
def receiving(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiving]:
    made = copy(company, tmp_path_factory.mktemp("events") / "workspace")
    settings = made.folder / "trainfare.toml"
    signed = f'{settings.read_text(encoding="utf-8")}\n[serve]\nsign_in = "local"\n'
    settings.write_text(signed, encoding="utf-8")
    trainfare(made, "user", "add", "root", "--role", "admin", given=PASSWORD + "\n")
    team = ("--role", "team", "--sees", "team:nlp")
    tokens = {
        "nlp": trainfare(made, "token", "create", "nlp", *team, "--scope", "events"),
        "all": trainfare(made, "token", "create", "all", "--scope", "events"),
        "reader": trainfare(made, "token", "create", "reader"),
    }
    with serving(made.folder) as server:
        yield Receiving(made, server, tokens)


def event(number: int, job: str = "j1", type_: str = "running", **data: Any) -> bytes:
    made = {"specversion": "1.0", "id": f"{job}-{number}", "source": "sdk/n1/7", "type": f"trainfare.{type_}"}
    common = {"v": 1, "job": job, "attempt": 1, "machine": "n1", "seq": number}
    return json.dumps({**made, "time": f"2026-11-12T10:{number:02}:00Z", "data": {**common, **data}}).encode() + b"\n"


def test_only_a_token_for_events_sends_them(receiving: Receiving) -> None:
    assert receiving.send(None, event(1)).status == 401
    refused = receiving.send("reader", event(1))
    assert (refused.status, refused.json["title"]) == (403, "sending events needs a token for it")
    read = receiving.server.ask("/api/v1/books", headers={"Authorization": f"Bearer {receiving.tokens['all']}"})
    assert read.status == 403, "a token for events does not read"
    form = receiving.server.ask("/sign-in")
    assert receiving.server.ask(PATH, "POST", LINES | {"Cookie": form.headers["set-cookie"]}, event(1)).status == 401


def test_each_event_is_accounted_for(receiving: Receiving) -> None:
    body = event(1, "j2", "start", labels={"team": "nlp"}) + event(2, "j2") + event(1, "j3") + b"{\n"
    found = receiving.send("nlp", gzip.compress(body), {"Content-Encoding": "gzip"})
    assert found.status == 200
    assert (found.json["accepted"], found.json["duplicates"]) == (2, 0)
    assert [(one["index"], one["what"]) for one in found.json["rejected"]] == [
        (2, "this token is not for its job"),
        (3, "it is not JSON"),
    ]
    again = receiving.send("all", body).json
    assert (again["accepted"], again["duplicates"], len(again["rejected"])) == (1, 2, 1)


def test_a_body_that_is_too_large_is_refused_as_such(receiving: Receiving) -> None:
    """The SDK halves its batches when it hears this."""
    assert receiving.send("all", b" " * (1024 * 1024 + 1)).status == 413
    bomb = receiving.send("all", gzip.compress(b" " * 20_000_000), {"Content-Encoding": "gzip"})
    assert (bomb.status, bomb.json["title"]) == (413, "more than 8 MB of events")
    assert receiving.send("all", b"x", {"Content-Type": "text/html"}).status == 400


def test_spools_are_sent_once_and_become_attempts(receiving: Receiving, tmp_path: Path) -> None:
    """Also the end-to-end path: a spool, the server, the catalog of this kind, a build, and the live account."""
    spool = tmp_path / "spool"
    spool.mkdir()
    lines = [event(1, "spooled", "start", labels={"team": "nlp"}), *(event(n, "spooled") for n in range(2, 9))]
    (spool / "n1-7-1.jsonl").write_bytes(b"".join(lines) + event(9, "spooled", "end")[:-5])
    assert _sync(receiving, spool) == (0, "n1-7-1.jsonl  accepted=8 known=0 rejected=0\n", "")
    (spool / "n1-7-1.jsonl").write_bytes(b"".join(lines) + event(9, "spooled", "end", state="completed"))
    assert _sync(receiving, spool)[1] == "n1-7-1.jsonl  accepted=1 known=0 rejected=0\n"
    (spool / "n1-7-1.jsonl.sent").unlink()
    assert _sync(receiving, spool)[1] == "n1-7-1.jsonl  accepted=0 known=9 rejected=0\n"
    trainfare(receiving.workspace, "build")
    explained = json.loads(
        trainfare(receiving.workspace, "explain", "spooled", "--month", "2026-11", "--format", "json")
    )
    assert "spooled" in json.dumps(explained)
    ran = subprocess.run(
        [COMMAND, "live", "--by", "team", "--format", "json", "-w", receiving.workspace.folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "events" in [one["name"] for one in json.loads(ran.stdout)["sources"]]


def test_sync_says_what_is_wrong(receiving: Receiving, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"id": "x"}\n')
    code, out, err = _sync(receiving, tmp_path)
    assert (code, out) == (2, "a.jsonl  accepted=0 known=0 rejected=1\n")
    assert err.startswith("a.jsonl: x: source is empty\nsync: the server rejected 1 event\n")
    (tmp_path / "b.jsonl").write_bytes(event(1))
    code, _, err = _sync(receiving, tmp_path, token="reader")
    assert code == 4
    assert "the server does not accept this token" in err


def _sync(receiving: Receiving, folder: Path, token: str = "all") -> tuple[int, str, str]:
    ran = subprocess.run(
        [COMMAND, "sync", folder, "--server", receiving.server.url],
        env={"TRAINFARE_TOKEN": receiving.tokens[token], "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout, ran.stderr
