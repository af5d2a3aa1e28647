"""Access control. The tables below list every route; a route that is missing from them fails a test."""

import json
import subprocess
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from litestar import Litestar
from workspace.folder import Workspace

from trainfare.serve.app import create_app

from .copies import catalog_of, copy
from .server import COMMAND, Answer, Server, logged, serving

PASSWORD = "correct horse battery"
BUDGET = '[budget]\ncurrency = "USD"\ntotal = 123457\nteam = { nlp = 61235, vision = 27189 }\n'

PUBLIC = ["/livez", "/healthz", "/readyz", "/api", "/api/openapi.json", "/sign-in"]
EVERY_VIEWER = [
    "/",
    "/jobs",
    "/jobs/{job_id:path}",
    "/efficiency",
    "/cost-trace",
    "/cost-trace/job",
    "/export/{file:str}",
    "/panels/{page:str}/{file:str}",
    "/allocation",
    "/allocation/compute",
    "/api/v1/books",
    "/api/v1/checkpoints",
    "/api/v1/forecast",
    "/api/v1/jobs",
    "/api/v1/jobs/{job_id:str}",
    "/api/v1/jobs/{job_id:str}/explain",
    "/api/v1/machines",
    "/api/v1/metrics",
    "/api/v1/report",
    "/api/v1/trend",
]
WHOLE_BILL = [
    "/api/v1/diff",
    "/api/v1/estimates",
    "/api/v1/findings",
    "/api/v1/lines/{delivery:int}/{line:int}",
    "/api/v1/reconcile",
    "/api/v1/rules",
    "/metrics",
    "/monthly-close",
    "/cost-trace/line",
    "/findings",
    "/rules",
    "/statements/{file:str}",
    "/unallocated",
]
PROVIDER = ["/sign-in/oidc", "/sign-in/oidc/back"]
FINANCE = ["/close", "/reopen"]
FORMS = ["/close", "/reopen", "/sign-in", "/sign-out"]
SENT = ["/api/v1/events"]
"""What programs send with a token, tested in `test_events.py`."""


@dataclass(frozen=True)
class Signed:
    """A server that requires signing in, and tokens for it."""

    server: Server
    tokens: dict[str, str]
    workspace: Workspace

    def ask(self, path: str, token: str) -> Answer:
        return self.server.ask(path, headers={"Authorization": f"Bearer {self.tokens[token]}", "Accept": "*/*"})


def trainfare(workspace: Workspace, *arguments: str, given: str = "") -> str:
    command = [COMMAND, *arguments, "-w", workspace.folder]
    ran = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


@pytest.fixture(scope="module")
def signed(company: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Signed]:
    made = copy(company, tmp_path_factory.mktemp("signed") / "workspace")
    settings = made.folder / "trainfare.toml"
    settings.write_text(
        f'{settings.read_text(encoding="utf-8")}\n[serve]\nsign_in = "local"\n{BUDGET}', encoding="utf-8"
    )
    trainfare(made, "user", "add", "ana", "--role", "team", "--sees", "team:nlp", given=PASSWORD + "\n")
    trainfare(made, "user", "add", "fin", "--role", "finance", given=PASSWORD + "\n")
    tokens = {
        "nlp": trainfare(made, "token", "create", "nlp", "--role", "team", "--sees", "team:nlp"),
        "all": trainfare(made, "token", "create", "all", "--role", "viewer"),
        "scraper": trainfare(made, "token", "create", "scraper", "--scope", "metrics"),
        "gone": trainfare(made, "token", "create", "gone"),
    }
    trainfare(made, "token", "revoke", "4")
    with serving(made.folder, log=made.folder / "server.log") as server:
        yield Signed(server, tokens, made)


@pytest.fixture(scope="module")
def app(company: Workspace) -> Litestar:
    return create_app(company.folder)


def routes(app: Litestar, method: str) -> set[str]:
    return {
        str(route.path)
        for route in app.routes
        if method in getattr(route, "methods", ()) and not str(route.path).startswith(("/static", "/api/schema"))
    }


def real(path: str, job: str) -> str:
    """Fill in the parameters of a route."""
    parts = {"{job_id:str}": job, "{job_id:path}": job, "{delivery:int}": "1", "{line:int}": "1"}
    files = {"export": "jobs.csv", "panels": "listing.json", "statements": "2026-10.html?by=team&value=nlp"}
    parts |= {"{page:str}": "jobs", "{file:str}": files.get(path.split("/")[1], "")}
    for part, value in parts.items():
        path = path.replace(part, value)
    if path == "/cost-trace/job":
        return f"{path}?job={job}"
    return f"{path}?window=2026-10" if "allocation" in path else path


def test_every_route_is_in_the_table(app: Litestar) -> None:
    listed = {*PUBLIC, *EVERY_VIEWER, *WHOLE_BILL, *PROVIDER, *FINANCE}
    assert routes(app, "GET") == listed
    assert routes(app, "POST") == {*FORMS, *SENT}
    assert len(listed) > 25


@pytest.mark.parametrize(
    "path", [*EVERY_VIEWER, *WHOLE_BILL, *FINANCE, "/api/schema/openapi.json", "/panels/monthly-close/versions.csv"]
)
def test_requests_without_credentials_are_rejected(signed: Signed, path: str) -> None:
    response = signed.server.ask(real(path, "alone-2026-11"))
    assert response.status == 401
    assert signed.ask(real(path, "alone-2026-11"), "gone").status == 401
    wanted_page = signed.server.ask(real(path, "alone-2026-11"), headers={"Accept": "text/html"})
    assert (wanted_page.status, wanted_page.headers["location"][:14]) == (303, "/sign-in?back=")


@pytest.mark.parametrize("path", PROVIDER)
def test_oidc_routes_are_not_found_where_people_have_passwords(signed: Signed, path: str) -> None:
    response = signed.server.ask(f"{path}?code=a&state=b")
    assert (response.status, response.json["title"]) == (404, "no identity provider is configured")


@pytest.mark.parametrize("path", PUBLIC)
def test_public_routes_need_no_credentials(signed: Signed, path: str) -> None:
    assert signed.server.ask(path).status == 200


@pytest.mark.parametrize("path", EVERY_VIEWER)
def test_a_team_and_a_viewer_may_read(signed: Signed, path: str) -> None:
    assert signed.ask(real(path, "alone-2026-11"), "nlp").status == 200
    assert signed.ask(real(path, "alone-2026-11"), "all").status == 200


@pytest.mark.parametrize("path", WHOLE_BILL)
def test_routes_about_the_whole_bill_reject_a_team(signed: Signed, path: str) -> None:
    assert signed.ask(real(path, ""), "nlp").status == 403
    assert signed.ask(real(path, ""), "all").status in (200, 403 if path == "/metrics" else 404)
    assert signed.ask(real(path, ""), "scraper").status == (200 if path == "/metrics" else 403)


def test_finance_closes_a_month_once_with_the_version_it_saw(signed: Signed) -> None:
    server = signed.server
    for token in ("nlp", "all"):
        assert signed.ask("/close?month=2026-10", token).status == 403
    page = server.ask("/sign-in")
    csrf = page.headers["set-cookie"].split(";")[0]
    form = {"_csrf_token": csrf.partition("=")[2].strip('"')}

    def post(path: str, cookies: str, **fields: str) -> Answer:
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookies}
        return server.ask(path, "POST", headers, urllib.parse.urlencode(form | fields).encode())

    def session(name: str) -> str:
        return post("/sign-in", csrf, name=name, password=PASSWORD).headers["set-cookie"].split(";")[0]

    ana, fin = session("ana"), session("fin")
    assert post("/close", f"{csrf}; {ana}", month="2026-10", version="1").status == 403
    page = server.ask("/close?month=2026-10", headers={"Cookie": f"{csrf}; {fin}"})
    assert ">Close 2026-10</button>" in page.text
    assert post("/close", fin, month="2026-10", version="1").status == 403, (
        "a form of another site lacks our CSRF cookie"
    )
    assert post("/close", f"{csrf}; {fin}", month="2026-10", version="7").status == 400
    closed = post("/close", f"{csrf}; {fin}", month="2026-10", version="1", note="filed as 4711")
    assert (closed.status, closed.headers["location"]) == (303, "/monthly-close?from=2026-10&to=2026-10")
    assert "by fin (filed as 4711)" in server.ask(closed.headers["location"], headers={"Cookie": fin}).text
    assert post("/close", f"{csrf}; {fin}", month="2026-10", version="1").status == 400
    with signed.workspace.open() as store:
        last = [row for row in store.catalog.audit.entries() if row.what == "month closed"]
    assert [(row.who, json.loads(row.details)["note"]) for row in last] == [("fin", "filed as 4711")]


def test_a_team_sees_only_its_own_data_on_every_route(signed: Signed) -> None:
    whole = signed.ask("/api/v1/jobs?window=2026-10&limit=1000", "all").json["rows"]
    mine = {row["job"] for row in whole if row["team"] == "nlp"}
    others = {row["job"] for row in whole} - mine
    assert mine
    assert others
    listed = signed.ask("/api/v1/jobs?window=2026-10&limit=1000", "nlp").json
    assert {row["job"] for row in listed["rows"]} == mine
    costs = {row["team"]: row["cost"] for row in signed.ask("/api/v1/report?window=2026-10", "all").json["rows"]}
    report = signed.ask("/api/v1/report?window=2026-10", "nlp").json
    assert [(row["team"], row["cost"]) for row in report["rows"]] == [("nlp", costs["nlp"])]
    assert report["total"] == report["bill"] == costs["nlp"]
    assert (report["idle"]["cost"], report["findings"]) == ("0.00", [])
    foreign = sorted(others)[0]
    assert signed.ask("/panels/rules/taken.csv", "nlp").status == 403
    assert signed.ask("/panels/cost-trace-line/payers.csv?delivery=1&line=1", "nlp").status == 403
    for path in (
        f"/api/v1/jobs/{foreign}?window=2026-10",
        f"/api/v1/jobs/{foreign}/explain?month=2026-10",
        f"/jobs/{foreign}?from=2026-10",
        f"/cost-trace/job?job={foreign}&from=2026-10&to=2026-10",
        f"/panels/cost-trace-job/pots.csv?job={foreign}&from=2026-10&to=2026-10",
    ):
        assert signed.ask(path, "nlp").status == 404
    rates = signed.ask("/api/v1/metrics?metric=M4&month=2026-10", "all").json["rows"]
    assert signed.ask("/api/v1/metrics?metric=m4&month=2026-10", "nlp").status == 403
    assert len(rates) == 4
    hidden_texts = {
        *others,
        *(row[name] for row in rates for name in ("numerator", "value")),
        costs["vision"],
        costs["speech"],
        "speech",
        "vision",
        "123457",
        "123,457",
        "27189",
        "27,189",
    }
    for path in (
        *EVERY_VIEWER,
        "/api/v1/jobs?format=csv&limit=1000&window=2026-10",
        "/api/v1/report?filter=team:vision&window=2026-10",
        "/api/v1/report?aggregate=machine,day&window=2026-10&format=csv",
        "/api/v1/trend?key=team&window=2026-10",
        "/api/v1/metrics?aggregate=team&month=2026-10",
        "/api/v1/metrics?aggregate=job&month=2026-10&format=csv",
        "/api/v1/checkpoints?month=2026-10",
        "/panels/overview/teams.csv",
        "/panels/overview/forecast.csv",
        "/api/v1/forecast?by=team",
        "/api/v1/forecast?filter=team:vision",
        "/export/jobs.csv?from=2026-10&to=2026-10",
        "/panels/cost-trace/flow.csv",
        f"/cost-trace/job?job={sorted(mine)[0]}&from=2026-10&to=2026-10",
        "/?from=2026-10&to=2026-10",
    ):
        text = signed.ask(real(path, sorted(mine)[0]), "nlp").text
        found = {
            word for word in hidden_texts if word in text and not (word in ("vision", "speech") and f":{word}" in path)
        }
        assert not found, (path, found)


def test_a_team_sees_its_own_budget(signed: Signed) -> None:
    whole = signed.ask("/api/v1/forecast", "all").json["rows"]
    budgets = {row["scope"]: row["budget"] for row in whole}
    assert budgets == {"all": "123457.00", "team:nlp": "61235.00", "team:vision": "27189.00"}
    mine = signed.ask("/api/v1/forecast", "nlp").json["rows"]
    assert {(row["scope"], row["budget"]) for row in mine} == {("all", "61235.00")}
    columns = ("so_far", "forecast", "low", "high", "method", "used", "expected")
    nlp = [[row[name] for name in columns] for row in whole if row["scope"] == "team:nlp"]
    assert [[row[name] for name in columns] for row in mine] == nlp
    narrowed = signed.ask("/api/v1/forecast?filter=team:nlp", "all").json["rows"]
    assert [[row[name] for name in columns] for row in narrowed] == nlp
    page = signed.ask("/?from=2026-11&to=2026-11", "nlp").text
    assert "61,235.00" in page
    assert "Budget used" in page


def test_sign_in_requires_the_password_and_a_csrf_token(signed: Signed) -> None:
    server = signed.server
    page = server.ask("/sign-in?back=/jobs", headers={"Accept": "text/html"})
    csrf = page.headers["set-cookie"].split(";")[0]
    token = csrf.partition("=")[2].strip('"')

    def sign_in(password: str, cookie: str = csrf, back: str = "/jobs") -> Answer:
        form = urllib.parse.urlencode({"name": "ana", "password": password, "back": back, "_csrf_token": token})
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}
        return server.ask("/sign-in", "POST", headers, form.encode())

    assert sign_in("wrong password").status == 401
    assert sign_in(PASSWORD, cookie="trainfare_csrf=other").status == 403
    assert sign_in(PASSWORD, back="//elsewhere.example").headers["location"] == "/"
    signed_in = sign_in(PASSWORD)
    assert (signed_in.status, signed_in.headers["location"]) == (303, "/jobs")
    cookie = signed_in.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    session = cookie.split(";")[0]
    assert {row["team"] for row in server.ask("/api/v1/jobs", headers={"Cookie": session}).json["rows"]} == {"nlp"}
    out = server.ask(
        "/sign-out",
        "POST",
        {"Cookie": f"{session}; {csrf}", "Content-Type": "application/x-www-form-urlencoded"},
        urllib.parse.urlencode({"_csrf_token": token}).encode(),
    )
    assert out.status == 303
    assert server.ask("/api/v1/jobs", headers={"Cookie": session}).status == 401


@pytest.mark.parametrize("path", [*PUBLIC, *EVERY_VIEWER, *WHOLE_BILL, *FORMS])
def test_options_needs_credentials_like_any_method(signed: Signed, path: str) -> None:
    """It used to skip authentication and then fail, because no viewer was known."""
    url = real(path, "alone-2026-11")
    assert signed.server.ask(url, "OPTIONS").status == 401
    known = signed.server.ask(url, "OPTIONS", {"Authorization": f"Bearer {signed.tokens['all']}"})
    assert (known.status, "OPTIONS" in known.headers["allow"]) == (204, True)


def test_password_guessing_is_rate_limited(signed: Signed) -> None:
    page = signed.server.ask("/sign-in")
    csrf = page.headers["set-cookie"].split(";")[0]
    form = {"name": "eve", "password": "guess", "_csrf_token": csrf.partition("=")[2].strip('"')}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": csrf}
    body = urllib.parse.urlencode(form).encode()
    started, statuses = time.monotonic(), list[int]()
    while 429 not in statuses:
        statuses.append(signed.server.ask("/sign-in", "POST", headers, body).status)
        returned = int((time.monotonic() - started) / 6) + 1  # an attempt comes back every six seconds
        assert statuses.count(401) <= 10 + returned
    assert statuses[:10] == [401] * 10
    assert {*statuses[10:]} <= {401, 429}


def test_no_secret_is_logged_or_stored(signed: Signed) -> None:
    path = signed.workspace.folder / "server.log"
    line = logged(path, signed.ask("/api/v1/books", "all"))
    assert {"method", "path", "status", "ms", "viewer"} <= line.keys()
    log = path.read_text(encoding="utf-8")
    catalog = catalog_of(signed.workspace)
    for secret in (*signed.tokens.values(), PASSWORD):
        assert secret not in log
        assert secret.encode() not in catalog


def test_a_foreign_host_name_is_rejected(server: Server) -> None:
    assert server.ask("/api/v1/books", headers={"Host": "evil.example"}).status == 401
    assert server.ask("/api/v1/books", headers={"Host": f"localhost:{server.port}"}).status == 200
