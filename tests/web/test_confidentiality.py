"""Non-interference: what a team learns depends on nothing but its own records, weights, prices and amounts.

Two companies are the same for the team nlp and different for everybody else (see `twins.py`). Every answer that nlp can
get, on every route of the application, is the same in both to the last byte, headers included.
"""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from urllib.parse import quote

import pytest
from litestar import Litestar
from workspace.folder import Workspace

from trainfare.engine.duckdb import DuckDB
from trainfare.query import keys
from trainfare.query.conversions import applied_conversions
from trainfare.query.open_books import open_books
from trainfare.serve.app import create_app
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.serve.pages import PAGES, TRACES
from trainfare.serve.pages.job import PANELS as JOB_PANELS
from trainfare.settings import config
from trainfare.tables import BASES

from . import twins
from .server import Answer, Server, serving
from .test_access import EVERY_VIEWER, FINANCE, PROVIDER, PUBLIC, WHOLE_BILL, routes, trainfare

MONTH = "2026-10"
PERIOD = "from=2026-10-01&to=2026-10-31"
OWN = [f"{job}-{MONTH}" for job in twins.OWN_JOBS]
FOREIGN = [f"{job}-{MONTH}" for job in ("nlp-a2", "vision-a", "speech-a", "odd", "nlp-", "unheard-of")]
FOREIGN_VALUES = (
    "team:vision",
    "team:audio",
    "project:choir",
    "machine:vision-1",
    "machine:audio-1",
    "machine:shared-1",
)
VARYING_HEADERS = {"date", "set-cookie", "x-request-id", "ratelimit-remaining", "ratelimit-reset", "last-modified"}
"""Headers that differ between any two answers: times, random names, and the secret of a form."""
FORM_SECRET = re.compile(rb'name="_csrf_token" value="[^"]*"')
MODES = ("json", "csv", "parquet")


@dataclass(frozen=True)
class Twin:
    """A company's server, and nlp's token for it."""

    server: Server
    token: str
    workspace: Workspace

    def ask(self, path: str, accept: str = "*/*") -> Answer:
        return self.server.ask(path, headers={"Authorization": f"Bearer {self.token}", "Accept": accept})


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Twin, Twin]]:
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("PYTHONHASHSEED", "0")  # the order of routes in the API's own description
        found = []
        for company in (twins.FIRST, twins.SECOND):
            made = twins.furnish(company, tmp_path_factory.mktemp(company.name) / "workspace")
            trainfare(made, "user", "add", "admin", "--role", "admin", given="correct horse battery\n")
            token = trainfare(made, "token", "create", "nlp", "--role", "team", "--sees", "team:nlp")
            server = stack.enter_context(serving(made.folder, log=made.folder / "server.log"))
            found.append(Twin(server, token, made))
        yield found[0], found[1]


@pytest.fixture(scope="module")
def app(pair: tuple[Twin, Twin]) -> Litestar:
    return create_app(pair[0].workspace.folder)


def test_the_two_companies_are_the_same_for_the_team_and_different_for_others(pair: tuple[Twin, Twin]) -> None:
    shares = [_shares_by_team(one.workspace) for one in pair]
    assert shares[0]["nlp"] == shares[1]["nlp"]
    assert len(shares[0]["nlp"]) > 20
    assert {*shares[0]} - {"nlp"} != {*shares[1]} - {"nlp"}
    explained = [_explained(one, OWN[0]) for one in pair]
    assert explained[0]["pots"]
    for field in ("pot", "total_weight"):
        assert [pot[field] for pot in explained[0]["pots"]] != [pot[field] for pot in explained[1]["pots"]]
    for field in ("weight", "part", "unit_price"):
        assert [pot[field] for pot in explained[0]["pots"]] == [pot[field] for pot in explained[1]["pots"]]


def _shares_by_team(workspace: Workspace) -> dict[str | None, list[tuple[object, ...]]]:
    """Every share of the newest month, by the team of its attempt or label, read from the book itself."""
    with workspace.open() as store, closing(DuckDB()) as engine:
        open_books(engine, [store.files(workspace.book(twins.MONTHS[1]))])
        found = engine.records(
            "SELECT coalesce(a.team, s.payer) AS of_team, s.* FROM shares s "
            "LEFT JOIN attempts a ON a.job_id = s.job_id AND a.attempt = s.attempt ORDER BY ALL"
        )
    by_team: dict[str | None, list[tuple[object, ...]]] = {}
    for share in found:
        by_team.setdefault(share.pop("of_team"), []).append(tuple(share.values()))
    return by_team


def _explained(one: Twin, job: str) -> dict[str, list[dict[str, str]]]:
    """What the command explains, which shows everything."""
    ran = one.workspace.run("explain", job, "--currency", "USD", "--format", "json")
    assert ran.code == 0, ran.err
    found: dict[str, list[dict[str, str]]] = json.loads(ran.out)
    return found


def test_every_route_is_asked(app: Litestar) -> None:
    asked = {path.split("?")[0] for path in paths()}
    for route in routes(app, "GET"):
        parts = [".+" if part.startswith("{") else re.escape(part) for part in route.split("/")]
        assert any(re.fullmatch("/".join(parts), path) for path in asked), route
    assert routes(app, "GET") == {*PUBLIC, *EVERY_VIEWER, *WHOLE_BILL, *PROVIDER, *FINANCE}


def test_every_explanation_and_a_third_of_all_answers_are_the_same_in_both_companies(pair: tuple[Twin, Twin]) -> None:
    everything = paths()
    sample = [path for path in everything if "explain" in path or "cost-trace" in path]
    statuses = _require_same(pair, list(dict.fromkeys([*sample, *everything[::3]])))
    assert statuses[200] > 80


@pytest.mark.services
def test_every_answer_is_the_same_in_both_companies(pair: tuple[Twin, Twin]) -> None:
    statuses = _require_same(pair, paths())
    assert statuses[200] > 200
    assert min(statuses[status] for status in (400, 403, 404)) > 3


def _require_same(pair: tuple[Twin, Twin], asked: list[str]) -> Counter[int]:
    """Ask both companies for these paths and require the same answers; return how often each status was the answer."""
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda one: [_comparable(one.ask(path)) for path in asked], pair)
    different = [
        (path, *_first_difference(one[2], other[2]))
        for path, one, other in zip(asked, first, second, strict=True)
        if one != other
    ]
    assert not different, "\n".join(map(str, different))
    statuses = Counter(status for status, _, _ in first)
    assert set(statuses) <= {200, 303, 400, 403, 404}
    return statuses


def test_every_page_is_the_same_for_a_browser(pair: tuple[Twin, Twin]) -> None:
    for path in (f"/jobs/{FOREIGN[0]}?{PERIOD}", "/rules", "/nothing-here", f"/cost-trace/job?job={FOREIGN[1]}"):
        first, second = (_comparable(one.ask(path, "text/html")) for one in pair)
        assert first == second


def _comparable(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    # The tag of a downloaded file is made of the time at which it was written.
    varying = VARYING_HEADERS | ({"etag"} if "last-modified" in answer.headers else set())
    headers = {name: value for name, value in answer.headers.items() if name not in varying}
    return answer.status, headers, FORM_SECRET.sub(b"", answer.body)


def _first_difference(first: bytes, second: bytes) -> tuple[bytes, bytes]:
    at = next((n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), 0)
    return first[max(at - 60, 0) : at + 60], second[max(at - 60, 0) : at + 60]


def paths() -> list[str]:
    """Everything that nlp may ask, and a good deal that it may not: every route, key, format, panel and own job."""
    return list(dict.fromkeys(itertools.chain(_plain(), _costs(), _jobs(), _pages(), _guesses())))


def _plain() -> Iterator[str]:
    yield from (path for path in (*PUBLIC, *PROVIDER, *FINANCE) if "{" not in path)
    yield from (path for path in (*EVERY_VIEWER, *WHOLE_BILL) if "{" not in path)
    yield "/api/v1/lines/1/1"
    yield f"/statements/{MONTH}.html?by=team&value=nlp"
    yield from (f"/close?month={MONTH}", f"/monthly-close?{PERIOD}", "/nothing-here")


def _costs() -> Iterator[str]:
    of_month = f"window={MONTH}"
    every = (*keys.JOB_KEYS, *keys.MACHINE_KEYS, *keys.TIME_KEYS, *keys.CHARGE_KEYS)
    for key in every:
        yield f"/api/v1/report?aggregate={key}&{of_month}"
        yield f"/api/v1/trend?key={key}&{of_month}"
    for key, mode in itertools.product(("team", "job", "machine", "rule"), MODES):
        yield f"/api/v1/report?aggregate={key}&window=2026-09-01,2026-11-01&format={mode}"
    for basis in BASES:
        yield f"/api/v1/report?basis={basis}&per=gpu&scope=infra&{of_month}"
    yield f"/api/v1/report?aggregate=machine,day,category&{of_month}&format=csv"
    yield "/api/v1/report?window=2026-10-01,2026-10-02"
    for mode in MODES:
        yield f"/api/v1/machines?{of_month}&format={mode}"
        yield f"/api/v1/metrics?month={MONTH}&format={mode}"
        yield f"/api/v1/checkpoints?month={MONTH}&format={mode}"
        yield f"/api/v1/forecast?by=team&format={mode}"
    for key in ("team", "job", "project", "machine", "region"):
        yield f"/api/v1/metrics?aggregate={key}&month={MONTH}"
        yield f"/allocation?window={MONTH}&aggregate={key}"
        yield f"/allocation/compute?window={MONTH}&aggregate={key}&accumulate=true"


def _jobs() -> Iterator[str]:
    for mode in MODES:
        yield f"/api/v1/jobs?window={MONTH}&limit=1000&format={mode}"
    yield from (f"/export/jobs.{mode}?{PERIOD}" for mode in ("csv", "parquet"))
    for job in (*OWN, *FOREIGN):
        yield f"/api/v1/jobs/{job}?window={MONTH}"
        yield f"/jobs/{job}?{PERIOD}"
        yield f"/cost-trace/job?job={job}&{PERIOD}"
        yield from (f"/api/v1/jobs/{job}/explain?month={MONTH}&format={mode}" for mode in MODES)
    for basis in BASES[1:]:
        yield f"/api/v1/jobs/{OWN[2]}/explain?basis={basis}"
    for name, job, mode in itertools.product(("flow", "pots", "lines"), OWN, ("csv", "json")):
        yield f"/panels/cost-trace-job/{name}.{mode}?job={job}&{PERIOD}"
    for name, job in itertools.product(JOB_PANELS, OWN):
        yield f"/panels/job/{name}.json?job={job}&{PERIOD}"


def _pages() -> Iterator[str]:
    for page, route in PAGES.items():
        yield from (f"{route.path}?{period}" for period in (PERIOD, "from=2026-09-01&to=2026-10-31", "from=2025-01"))
        yield from (f"/panels/{page}/{name}.csv?{PERIOD}&by=team" for name in route.panels)
    yield from (f"/panels/{page}/payers.csv?delivery=1&line=1" for page in TRACES)
    for sort in ("cost", "-cost", "job", "gpu_seconds"):
        yield f"/jobs?{PERIOD}&sort={sort}"
    for words in ("nlp", "vision", "a"):
        yield f"/jobs?{PERIOD}&search={words}&q={words}"
    for payer in ("idle", "unallocated", "outside", "jobs"):
        yield f"/?{PERIOD}&payer={payer}"
        yield f"/cost-trace?{PERIOD}&payer={payer}"


def _guesses() -> Iterator[str]:
    """Questions about others, by name."""
    for guess in FOREIGN_VALUES:
        key, _, value = guess.partition(":")
        for path in ("report", "trend", "jobs", "machines", "forecast"):
            yield f"/api/v1/{path}?filter={quote(guess)}" + ("" if path == "forecast" else f"&window={MONTH}")
        for page in ("/", "/jobs", "/efficiency", "/cost-trace"):
            yield f"{page}?{PERIOD}&{key}={value}"
    yield f"/api/v1/report?currency=EUR&window={MONTH}"
    yield f"/?currency=EUR&{PERIOD}"
    yield f"/api/v1/jobs/{OWN[0]}/explain?currency=EUR"
    yield "/api/v1/report?aggregate=experimnt"
    yield "/api/v1/metrics?metric=M4"
    yield from (f"/api/v1/books?format={mode}" for mode in MODES)


def test_the_rates_of_others_conversions_are_not_shown(tmp_path: Path) -> None:
    """Rates are public, but the days on which others were charged in a currency are not."""
    found = []
    for day in (2, 4):
        company = replace(twins.FIRST, pounds_on=day)
        made = twins.furnish(company, tmp_path / str(day) / "workspace")
        settings = config.load(made.folder / config.FILE_NAME)
        with made.open() as store, closing(BookReader(store, settings)) as reader:
            for viewer in (Viewer("nlp", "team", ("team:nlp",)), Viewer("all", "viewer")):
                with reader.open(viewer, [reader.newest()]) as opened:
                    rates = applied_conversions(opened, "true", "effective")
                found.append([(one.rate_day.day, one.rate, one.lines, one.original) for one in rates])
    (first, first_whole, second, second_whole) = found
    assert first == second == [(1, Decimal("1.01"), None, None)]
    assert [day for day, *_ in first_whole] == [1, 2]
    assert [day for day, *_ in second_whole] == [1, 4]


def test_a_share_is_explained_by_its_own_weight_and_a_price_that_give_the_amount(pair: tuple[Twin, Twin]) -> None:
    for job in OWN:
        found = pair[0].ask(f"/api/v1/jobs/{job}/explain?month={MONTH}").json
        assert found["pots"]
        for row in (*found["pots"], *found["lines"]):
            exact = int(row["weight"]) * Decimal(row["unit_price"])
            assert exact.quantize(Decimal("1e-12"), ROUND_HALF_EVEN) == Decimal(row["part"])
            assert all(row.get(field) is None for field in found["withheld"])
        spent = sum(Decimal(row["part"]) for row in found["pots"])
        assert spent == Decimal(found["explained"]) == Decimal(found["cost"])
        assert {"pot", "total_weight", "line_amount", "file_line"} <= set(found["withheld"])


def test_the_price_of_a_unit_is_what_everyone_in_the_pot_pays(pair: tuple[Twin, Twin]) -> None:
    own = pair[0].ask(f"/api/v1/jobs/{OWN[2]}/explain?month={MONTH}").json["pots"]
    whole = _explained(pair[0], OWN[2])["pots"]
    for restricted, complete in zip(own, whole, strict=True):
        exact = Decimal(complete["pot"]) / Decimal(complete["total_weight"])
        assert abs(Decimal(restricted["unit_price"]) - exact) * Decimal(restricted["weight"]) < Decimal("1e-11")


def test_a_description_is_shown_only_of_what_the_job_held(pair: tuple[Twin, Twin]) -> None:
    lines = pair[1].ask(f"/api/v1/jobs/{OWN[2]}/explain?month={MONTH}").json["lines"]
    described = {line["among"]: line["description"] for line in lines}
    assert described["machine"] == "Compute of spread-1"
    assert described["all"] is None
    assert described["cluster"] is None
