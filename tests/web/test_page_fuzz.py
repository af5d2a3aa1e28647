"""Every URL, method and parameter with unusual values, anonymously and in every role.

No response is a server error, names a path of the server, shows a team what belongs to another, or takes longer than a
query may. First comes a sweep: every URL by every role, by every method and with every parameter; all combinations of
these in `make soak`. Then come random combinations. The campaign prints its seed.
"""

import http.client
import random
import re
import tempfile
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import soak
from workspace.folder import Workspace

from trainfare.serve import pages
from trainfare.serve.admission.middleware import GRACE_SECONDS
from trainfare.serve.app import create_app
from trainfare.serve.pages import PAGES, TRACES, jobs, unallocated
from trainfare.serve.pages import job as job_page
from trainfare.serve.pages.query import CHOICES, FILTERS, SHARED

from .copies import copy
from .server import COMMAND, Server, serving
from .test_access import EVERY_VIEWER, FINANCE, FORMS, PASSWORD, PROVIDER, PUBLIC, WHOLE_BILL, routes, trainfare
from .test_workers import signed_in

pytestmark = [pytest.mark.services, pytest.mark.soak]

SECONDS = 10 * soak.SCALE
CLIENTS = 4
QUERY_SECONDS = 60
MOST_FOUND = 20
SAMPLE = 8
"""In a sample, a parameter is sent to every eighth path."""
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "GUESS")
USUAL_METHODS = (*["GET"] * 25, *METHODS, "POST")
OWN_PARAMETERS = (
    *("page", "size", "sort", "order", "q", "by", "pick", "column", "job", "delivery", "line", "value", "month"),
    *("back", "code", "state", "error", "path", "self", "name", "window", "aggregate", "step", "accumulate", "format"),
    *("includeIdle", "filter", "limit", "offset", "metric", "key", "old", "new", "productive", "from_", "panel"),
    *("rates", "months", "password", "note", "total", "shares", "accept", "viewer", "book_reader"),
    "without_bill",
)
"""Parameters of pages, forms and the API, and some that sound like arguments of our functions."""
PARAMETERS = tuple(dict.fromkeys((*OWN_PARAMETERS, *SHARED, *FILTERS, *unallocated.OWN_FILTERS)))
GOOD = {
    "window": ["2026-10", "7d", "2026-10-03,2026-10-17", "2020-01-01,2030-01-01"],
    "from": ["2026-10", "2026-10-03", "now-12M/M"],
    "to": ["2026-10", "2026-11-05", "now"],
    "month": ["2026-10", "2026-11"],
    "aggregate": ["team", "job,machine,day", "owner", "label:x", "namespace", "machine,day,category"],
    "step": ["1d", "7d", "1M", "24h"],
    "by": ["team", "owner", "cost_center", "source", "rule", "state"],
    "key": ["payer", "category", "team", "job"],
    "sort": ["-cost", "cost", "rate", "-started"],
    "order": ["asc", "desc"],
    "format": ["json", "csv", "parquet"],
    "filter": ["team:vision", "owner:ana", "state:(none)", "job:alone-2026-11"],
    "metric": ["M1", "m4", "M10"],
    "productive": ["held", "busy", "not_lost"],
    "payer": ["attempt", "idle"],
    "version": ["1", "2"],
    "includeIdle": ["true", "1"],
    "accumulate": ["true"],
    "column": ["team", "cost"],
    **{name: list(values) for name, values in CHOICES.items()},
}
UNUSUAL = (
    *(
        "",
        " ",
        "0",
        "-1",
        "1",
        "2",
        "²",
        "٣",
        "½",
        "1_000",
        "+1",
        "1e3",
        "1e999",
        "NaN",
        "Infinity",
        "0x10",
        "true",
        "null",
    ),
    *("9" * 20, "9" * 400, "9" * 5000, "-" + "9" * 30, "2" * 19, "4294967296", "18446744073709551616"),
    *(
        "'",
        '"',
        "\\",
        "`",
        "%",
        "%25",
        "%s%n",
        "--",
        ";",
        "' OR 1=1 --",
        "'; DROP TABLE shares; --",
        "$1",
        "{}",
        "{{7*7}}",
    ),
    *(
        "<script>alert(1)</script>",
        "\x00",
        "\x1b[31m",
        "\r\nSet-Cookie: a=b",
        "\t",
        "\u202e",
        "\ufeff",
        "é",
        "日本",
        "😀",
        "a" * 3000,
    ),
    *(
        "../../etc/passwd",
        "/etc/passwd",
        "..",
        ".",
        "/",
        "//",
        "//evil.example",
        "file:///etc/passwd",
        "C:\\x",
        "~",
        "*",
    ),
    *("2026-13", "0000-00", "9999-12", "2026-02-30", "now-99999999d", "now/M", "now-1000000y", "1970-01-01,9999-12-31"),
    *(
        "job,job",
        "job,team,day,pool",
        ",",
        "label:",
        "label:\"'",
        "team:",
        ":",
        "team:nlp:x",
        "(none)",
        "__idle__",
        "None",
    ),
)
BYTES = ("%FF", "%ED%A0%80", "%C0%AF", "%00", "%2F", "%252F", "%", "%zz", "&", "=", "&&==", "[]", "a[b]=c", ";")
"""Sent as they are, without encoding them first."""


@dataclass
class Campaign:
    """A server with every role, what a team must not see, and what was found."""

    server: Server
    workspace: Workspace
    credentials: dict[str, dict[str, str]]
    form: dict[str, str]
    """The cookie and the token without which no form is read."""
    paths: list[str]
    jobs: list[str]
    hidden: set[str]
    found: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0
    sent: Counter[str] = field(default_factory=Counter)


def hidden_texts(server: Server, viewer: dict[str, str]) -> tuple[set[str], list[str], list[str]]:
    """What belongs to other teams (jobs, names, amounts), their jobs, and the jobs of the team itself."""
    rows = server.ask("/api/v1/jobs?window=2026-10-01,2026-12-01&limit=1000", headers=viewer).json["rows"]
    mine = sorted({row["job"] for row in rows if row["team"] == "nlp"})
    others = sorted({row["job"] for row in rows} - {*mine})
    amounts = set()
    for window in ("2026-10", "2026-11", "2026-10-01,2026-12-01"):
        report = server.ask(f"/api/v1/report?window={window}&aggregate=team", headers=viewer).json
        amounts |= {row["cost"] for row in report["rows"] if row["team"] != "nlp"} | {report["total"]}
        amounts |= {report[name]["cost"] for name in ("idle", "unallocated", "outside")}
    return {*others, *(text for text in amounts if len(text) > 6)}, others, mine


@pytest.fixture(scope="module")
def campaign(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    made = copy(company, tmp_path_factory.mktemp("fuzzed") / "workspace")
    settings = (made.folder / "trainfare.toml").read_text(encoding="utf-8")
    serve = f'sign_in = "local"\nrequests_per_minute = 1000000\nquery_seconds = {QUERY_SECONDS}\n'
    made.write("trainfare.toml", f"{settings}\n[serve]\n{serve}")
    trainfare(made, "user", "add", "fin", "--role", "finance", given=PASSWORD + "\n")
    tokens = {"team": ("--role", "team", "--sees", "team:nlp"), "metrics": ("--role", "viewer", "--scope", "metrics")}
    tokens |= {role: ("--role", role) for role in ("viewer", "operator", "finance", "admin")}
    credentials = {name: trainfare(made, "token", "create", name, *role) for name, role in tokens.items()}
    headers = {name: {"Authorization": f"Bearer {token}"} for name, token in credentials.items()}
    with serving(made.folder, log=made.folder / "server.log") as server:
        headers |= {"anonymous": {}, "forged": {"Authorization": "Bearer trainfare_²"}}
        headers["signed-in"] = {"Cookie": signed_in(server)}
        hidden, others, mine = hidden_texts(server, headers["viewer"])
        cookie = server.ask("/sign-in").headers["set-cookie"].split(";")[0]
        form = {"cookie": cookie, "token": cookie.partition("=")[2].strip('"')}
        app = create_app(made.folder)
        more = {"/static/app.css", "/api/schema", "/api/schema/openapi.json", "/nothing/{file:str}"}
        paths = sorted(routes(app, "GET") | routes(app, "POST") | more)
        yield Campaign(server, made, headers, form, paths, [*others[:3], *mine[:3]], hidden)


def test_the_campaign_knows_every_route(campaign: Campaign) -> None:
    assert {*PUBLIC, *EVERY_VIEWER, *WHOLE_BILL, *PROVIDER, *FINANCE, *FORMS} <= {*campaign.paths}
    assert len(campaign.hidden) > 5


def test_the_campaign_knows_every_parameter(campaign: Campaign) -> None:
    """Those of the API are in its document; pages and forms read theirs by name."""
    document = campaign.server.ask("/api/openapi.json").json
    operations = [one for path in document["paths"].values() for one in path.values()]
    documented = {one["name"] for operation in operations for one in operation.get("parameters", ())}
    assert len(documented) > 15
    read = re.compile(r"""\b(?:query|data|form|parameters)\.(?:get|get_all|number)\(\s*"(\w+)\"""")
    sources = [path.read_text(encoding="utf-8") for path in Path(pages.__file__).parents[1].rglob("*.py")]
    in_code = {name for text in sources for name in read.findall(text)}
    assert {"page", "password", "pick"} <= in_code
    in_paths = {"job_id", "delivery", "line"}
    assert (documented | in_code) - in_paths <= {*PARAMETERS}


def value(chance: random.Random, campaign: Campaign, name: str) -> str:
    """A value for a parameter, encoded: usual, unusual, a job, or bytes that are no text."""
    kind = chance.random()
    if kind < 0.4 and name in GOOD:
        return urllib.parse.quote(chance.choice(GOOD[name]), safe="")
    if kind < 0.5 or (name == "job" and kind < 0.8):
        return urllib.parse.quote(chance.choice(campaign.jobs), safe="")
    if kind < 0.6:
        return chance.choice(BYTES)
    return urllib.parse.quote(chance.choice(UNUSUAL), safe="", errors="replace")


def filled(chance: random.Random, campaign: Campaign, path: str) -> str:
    """A route with its parts filled in: usual ones, jobs, and anything else."""
    files = [f"{panel}.{kind}" for page in PAGES.values() for panel in page.panels for kind in ("csv", "json")]
    files += [f"{panel}.csv" for panel in (*jobs.PANELS, *job_page.PANELS, "pots", "lines", "payers")]
    files += ["jobs.csv", "jobs.parquet", "2026-10.html", "2026-10.xlsx", "2026-10.pdf", "2026-99.html"]
    known = {"page": [*PAGES, *TRACES, "job"], "file": files, "delivery": ["1"], "line": ["1", "2"]}
    parts = []
    for part in path.split("/"):
        name = part.strip("{}").partition(":")[0]
        if not part.startswith("{"):
            parts.append(part)
        elif name in known and chance.random() < 0.8:
            parts.append(chance.choice(known[name]))
        else:
            parts.append(value(chance, campaign, "job" if name == "job_id" else name))
    return "/".join(parts)


@dataclass(frozen=True)
class Request:
    role: str
    method: str
    path: str
    """As the application knows it."""
    names: tuple[str, ...]
    """Parameters; one that is repeated is sent several times."""


def random_request(chance: random.Random, campaign: Campaign) -> Request:
    names = chance.choices(PARAMETERS, k=chance.choice([0, 1, 1, 2, 3, 6]))
    names += [name for name in names if chance.random() < 0.25]
    role = chance.choice([*campaign.credentials, "team", "team"])
    return Request(role, chance.choice(USUAL_METHODS), chance.choice(campaign.paths), tuple(names))


def sweep(campaign: Campaign, is_full: bool) -> list[Request]:
    """Every path by every role, by every method and with every parameter; if asked for, all of these together."""
    roles, found = [*campaign.credentials], list[Request]()
    for at, path in enumerate(campaign.paths):
        for other, role in enumerate(roles):
            methods = METHODS if is_full else {"GET", METHODS[(at + other) % len(METHODS)]}
            found += [Request(role, method, path, ()) for method in methods]
        for other, name in enumerate(PARAMETERS):
            if is_full or (at + other) % SAMPLE == 0:
                asking = roles if is_full else [roles[(at + other // SAMPLE) % len(roles)]]
                found += [Request(role, "GET", path, (name, name)) for role in asking]
    return found


def test_the_sweep_reaches_everything(campaign: Campaign) -> None:
    paths, roles = {*campaign.paths}, {*campaign.credentials}
    for is_full in (False, True):
        requests = sweep(campaign, is_full)
        assert {(one.path, one.role) for one in requests} == {(path, role) for path in paths for role in roles}
        assert {(one.path, one.method) for one in requests} == {(path, method) for path in paths for method in METHODS}
        assert {name for one in requests for name in one.names} == {*PARAMETERS}
    assert {(one.path, *one.names[:1]) for one in requests} >= {(path, name) for path in paths for name in PARAMETERS}


def send(campaign: Campaign, chance: random.Random, one: Request) -> None:
    """Send one request and look at what comes back."""
    pairs = [f"{name}={value(chance, campaign, name)}" for name in one.names]
    path = filled(chance, campaign, one.path) + ("?" + "&".join(pairs) if pairs else "")
    headers = dict(campaign.credentials[one.role])
    headers["Accept"] = chance.choice(["*/*", "text/html", "application/json", "text/csv", "é;q=x", ""])
    form = form_body(campaign, chance, one, headers) if one.method in ("POST", "PUT", "PATCH") else None
    connection = http.client.HTTPConnection("127.0.0.1", campaign.server.port, timeout=300)
    started = time.monotonic()
    try:
        connection.putrequest(one.method, path, skip_accept_encoding=True)
        for name, text in headers.items():
            connection.putheader(name, text.encode("latin-1", "replace"))
        if form is not None:
            connection.putheader("Content-Length", str(len(form)))
        connection.endheaders(form)
        response = connection.getresponse()
        body, cookies = response.read(), response.headers.get_all("set-cookie", [])
    finally:
        connection.close()
    content = str(response.headers).encode("latin-1", "replace") + body
    request = f"{one.role} {one.method} {path}"
    judge(campaign, request, response.status, content, time.monotonic() - started)
    if any(cookie.startswith("a=") for cookie in cookies):  # as one of the unusual texts says
        campaign.found.append(f"header injected by {request}")


def form_body(campaign: Campaign, chance: random.Random, one: Request, headers: dict[str, str]) -> bytes | None:
    """A form with unusual fields. Most have the token of a page, without which none of them would be read."""
    if chance.random() < 0.2:
        return None
    kinds = ("application/json", "x", "multipart/form-data")
    is_form = chance.random() < 0.8
    headers["Content-Type"] = "application/x-www-form-urlencoded" if is_form else chance.choice(kinds)
    pairs = [f"{name}={value(chance, campaign, name)}" for name in chance.choices(PARAMETERS, k=4)]
    if is_form and one.path != "/sign-out":  # whoever signs out has no further requests
        headers["Cookie"] = "; ".join(filter(None, (headers.get("Cookie"), campaign.form["cookie"])))
        pairs.append("_csrf_token=" + urllib.parse.quote(campaign.form["token"], safe=""))
    return "&".join(pairs).encode()


def server_paths(workspace: Workspace) -> list[str]:
    """What shows where files of the server are, or its code."""
    folders = [str(workspace.folder), tempfile.gettempdir(), str(COMMAND.parent)]
    return [*folders, "site-packages", "Traceback"]


def judge(campaign: Campaign, request: str, status: int, content: bytes, seconds: float) -> None:
    role = request.split()[0]
    text = content.decode("utf-8", "replace")
    campaign.statuses[status] += 1
    campaign.sent[role] += 1
    campaign.slowest = max(campaign.slowest, seconds)
    if status >= 500:
        campaign.found.append(f"{status} {request}: {text[:300]}")
    sent = urllib.parse.unquote(request)
    campaign.found += [f"path {one} {request}" for one in server_paths(campaign.workspace) if one in text]
    if role in ("team", "anonymous", "forged") or (role == "metrics" and "/metrics" not in sent):
        campaign.found += [f"{one} shown {request}" for one in campaign.hidden if one in text and one not in sent]
    if seconds > 2 * QUERY_SECONDS + GRACE_SECONDS:
        campaign.found.append(f"{seconds:.1f} s {request}")


def test_no_request_is_answered_with_an_error_of_ours_or_what_is_not_the_viewers(campaign: Campaign) -> None:
    soak.announce("fuzzed pages", SECONDS)
    planned = sweep(campaign, is_full=soak.SCALE > 1)
    random.Random(soak.SEED).shuffle(planned)

    def run(number: int) -> None:
        chance = random.Random(soak.SEED + number)
        for one in planned[number::CLIENTS]:
            if len(campaign.found) < MOST_FOUND:
                send(campaign, chance, one)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and len(campaign.found) < MOST_FOUND:
            send(campaign, chance, random_request(chance, campaign))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{sum(campaign.statuses.values())} requests, slowest {campaign.slowest:.1f} s, {dict(campaign.statuses)}")
    assert campaign.found == [], "\n".join(campaign.found)
    assert sum(campaign.statuses.values()) >= len(planned), "a client has ended early"
    assert set(campaign.sent) == {*campaign.credentials}
    assert {200, 400, 401, 403, 404, 405} <= {*campaign.statuses}
    assert campaign.server.ask("/livez").status == 200
    log = (campaign.workspace.folder / "server.log").read_text(encoding="utf-8")
    assert "Traceback" not in log


def test_the_judge_finds_what_it_looks_for(campaign: Campaign, tmp_path: Path) -> None:
    planted = Campaign(campaign.server, campaign.workspace, {}, {}, [], [], {"1234.567890"})
    judge(planted, "team GET /", 200, b"cost 1234.567890", 0.1)
    judge(planted, "viewer GET /", 200, b"cost 1234.567890", 0.1)
    judge(planted, "team GET /?q=1234.567890", 200, b"cost 1234.567890", 0.1)
    judge(planted, "viewer GET /", 500, b"", 0.1)
    judge(planted, "viewer GET /", 400, f"{campaign.workspace.folder}/lake".encode(), 0.1)
    judge(planted, "viewer GET /", 200, b"", 1000)
    judge(planted, "metrics GET /jobs", 200, b"cost 1234.567890", 0.1)
    judge(planted, "metrics GET /metrics", 200, b"cost 1234.567890", 0.1)
    kinds = [found.split()[0] for found in planted.found]
    assert [kind for kind in kinds if kind != "path"] == ["1234.567890", "500", "1000.0", "1234.567890"]
    assert "path" in kinds
