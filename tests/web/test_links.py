"""Drill-downs tie: every figure that is a link leads to a page that shows the same figure, to the last digit.

This follows the links of every page, under random filters, for several viewers, on the demo and on companies with
random jobs and bills. A figure without a question is an error, too; there are no exceptions. `make soak` follows all
links of more workspaces and filters. The campaign prints its seed.
"""

import html
import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote, urlencode

import prebuilt
import pytest
import soak
from pages.conftest import build_demo
from workspace import company, everything
from workspace.company import NOVEMBER, OCTOBER, Line
from workspace.folder import Workspace

from trainfare.engine.duckdb import DuckDB
from trainfare.period import Month
from trainfare.query.stored import select_of
from trainfare.serve.pages import PAGES
from trainfare.serve.pages.jobs import GROUPS

from .links import Crawl, Question, read
from .server import Server, serving
from .test_access import PASSWORD, trainfare
from .test_questions import MACHINES, NAMES, job_log

SETTINGS = """
[[rule]]
name = "shared tools"
match = { service = "Tools service" }
parts = { "__unallocated__" = 20, "team:nlp" = 50, "__idle__" = 30 }

[[rule]]
name = "office"
match = { service = "Office service" }
to = "__outside__"
"""
SIGN_IN = '\n[serve]\nsign_in = "local"\nrequests_per_minute = 1000000\n'
VIEWERS = {"all": (), "nlp": ("--sees", "team:nlp"), "two": ("--sees", "team:vision", "--sees", "project:atlas")}
LEAST_OF_ONE = 4
"""The least number of linked figures on any page, without filters, for a viewer who sees everything."""
LEAST = {"/": 30, "/jobs": 6, "/efficiency": 15, "/cost-trace": 15, "/unallocated": 6}
LEAST |= {"/monthly-close": 10, "/findings": 2, "/rules": 10}
PERIODS = (
    (),
    (),
    ("2026-10", "2026-11"),
    ("2026-10", "2026-10"),
    ("2026-10-05", "2026-10-17"),
    ("2026-10-28", "2026-11-04"),
)
LEAST_FOLLOWED = 25
LINKS_PER_PAGE = 8
"""How many links of a page a sample follows."""


@dataclass(frozen=True)
class Site:
    server: Server
    tokens: dict[str, str]
    filters: dict[str, list[str]]
    jobs: list[str]

    def ask(self, viewer: str) -> Callable[[str], tuple[int, str]]:
        headers = {"Authorization": f"Bearer {self.tokens[viewer]}", "Accept": "text/html"}

        def answer(url: str) -> tuple[int, str]:
            found = self.server.ask(url, headers=headers)
            return found.status, found.text

        return answer


def furnish_at_random(folder: Path, seed: int) -> None:
    """Two months of a company: jobs on random machines, tagged and untagged storage, tools in fixed parts, support."""
    chance = random.Random(seed)
    made = Workspace(folder)
    for month, days in ((OCTOBER, 31), (NOVEMBER, 20)):
        starts = [month.start + timedelta(days=number) for number in range(days)]
        lines = [
            Line(day, _price(chance), machine=name) for day in starts for name in NAMES[:6] if chance.random() < 0.9
        ]
        for day in starts:
            team, service = chance.choice((*company.TEAMS, "nobody", "")), chance.choice(("Storage", "Network", "Logs"))
            lines.append(Line(day, _price(chance), chance.choice(("", "", "bucket-1", "gpu-9")), team, service))
            if chance.random() < 0.3:
                lines.append(Line(day, _price(chance), service=chance.choice(("Tools", "Office", "Support", "Tax"))))
        made.write_bill(month, lines)
        made.write(f"measurements/{month}.csv", company.measurements(month))
    abroad = [Line(OCTOBER.start + timedelta(days=n), _price(chance), machine="gpu-3") for n in range(9)]
    made.write("bills/abroad.csv", company.bill(OCTOBER, abroad).replace("USD", "EUR"))
    made.write("jobs/jobs.csv", job_log(seed))
    made.write("machines.csv", MACHINES)
    settings = company.settings(currency='"USD"', estimate="true") + '[[source]]\npath = "measurements/*.csv"\n'
    made.write("trainfare.toml", settings + SETTINGS + SIGN_IN)
    ran = made.run("build", "--as-of", "2026-11-23T00:00Z")
    assert ran.code == 0, ran.err


def _price(chance: random.Random) -> Decimal:
    return Decimal(chance.randrange(-2 * 10**12, 90 * 10**13)).scaleb(-12)


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """Serve a workspace to viewers who see everything or the jobs of some labels."""
    made = Workspace(folder)
    tokens = {
        name: trainfare(made, "token", "create", name, "--role", "team" if seen else "viewer", *seen)
        for name, seen in VIEWERS.items()
    }
    trainfare(made, "user", "add", "reader", given=PASSWORD + "\n")
    with serving(folder) as server:
        yield Site(server, tokens, *_values(made))


def _values(made: Workspace) -> tuple[dict[str, list[str]], list[str]]:
    """Values of filters that select something, and the jobs with the highest cost."""
    with made.open() as store:
        files = store.files(made.book(Month.parse(made.books()[-1][0])))
    with closing(DuckDB()) as engine:
        engine.view("shares", select_of(files, "shares"))
        found: dict[str, list[str]] = {}
        for key in ("category", "rule", "source", "reason", "day", "account"):
            rows = engine.rows(f"SELECT DISTINCT CAST({key} AS VARCHAR) FROM shares WHERE {key} IS NOT NULL ORDER BY 1")
            found[key] = [value for (value,) in rows][:20]
        of_jobs = "SELECT job_id FROM shares WHERE job_id IS NOT NULL GROUP BY 1 ORDER BY sum(effective) DESC, 1"
        jobs = [job for (job,) in engine.rows(of_jobs)]
    found |= {"payer": ["jobs", "idle", "unallocated", "labels"], "state": ["completed", "failed", "preempted"]}
    found |= {"pool": ["large", "small", "(none)"], "team": ["nlp", "vision", "(none)"], "machine": ["gpu-1", "gpu-2"]}
    found |= {"job": jobs[:5], "attempt": [f"{job}#1" for job in jobs[:5]], "resource": ["gpu-1", "gpu-3", "(none)"]}
    found |= {"attempt_state": ["preempted", "completed"], "gpu_model": ["H100", "(none)"], "cluster": ["main"]}
    return {key: values for key, values in found.items() if values}, jobs


def pages(site: Site, chance: random.Random) -> list[str]:
    """The path of every page; pages about one job are about a random one."""
    job = chance.choice(site.jobs[:20])
    own = [f"/jobs?by={chance.choice(GROUPS)}", f"/jobs/{quote(job, safe='')}", f"/cost-trace/job?job={quote(job)}"]
    return [*(route.path for route in PAGES.values()), *own]


def at_random(path: str, site: Site, chance: random.Random) -> str:
    """A page with up to three random filters, a random period, cost basis, scope and currency."""
    pairs = []
    for key in chance.sample(sorted(site.filters), chance.choice((0, 1, 1, 2, 3))):
        pairs += [(key, value) for value in chance.sample(site.filters[key], 1)]
    period = chance.choice(PERIODS)
    pairs += [*zip(("from", "to"), period, strict=False), ("basis", chance.choice(("effective", "billed", "list")))]
    pairs += [("per", chance.choice(("wall", "gpu"))), ("scope", chance.choice(("full", "full", "infra")))]
    if chance.random() < 0.15:
        pairs.append(("currency", "EUR"))
    return f"{path}{'&' if '?' in path else '?'}{urlencode(pairs)}"


def some(chance: random.Random) -> Callable[[list[Question]], Sequence[Question]]:
    """A few links of each kind."""

    def choose(questions: list[Question]) -> Sequence[Question]:
        kinds: dict[tuple[str, ...], list[Question]] = {}
        for one in questions:
            keys = sorted({part.split("=")[0] for part in one["url"].partition("?")[2].split("&")})
            kinds.setdefault((one["url"].split("?")[0].split("/")[1], one["measure"], *keys), []).append(one)
        of_each = [chance.choice(found) for found in kinds.values()]
        return chance.sample(of_each, min(LINKS_PER_PAGE, len(of_each)))

    return choose


@dataclass(frozen=True)
class Journey:
    """Whose links to follow: of every page without filters, and of pages under random filters in so many rounds."""

    seed: int = soak.SEED
    rounds: int = 1
    viewers: Sequence[str] = tuple(VIEWERS)
    is_sample: bool = True
    has_unallocated: bool = True

    def follow(self, site: Site) -> None:
        chance = random.Random(self.seed)
        least = LEAST if self.has_unallocated else LEAST | {"/unallocated": 0}
        choose = some(chance) if self.is_sample else lambda questions: questions
        for viewer in self.viewers:
            crawl = Crawl(site.ask(viewer))
            for path in pages(site, chance):
                found = crawl.follow_all(path, choose)
                enough = viewer != "all" or found >= least.get(path, LEAST_OF_ONE)
                assert enough, f"{path} has only {found} linked figures"
            for _ in range(self.rounds):
                for path in chance.sample(pages(site, chance), 4):
                    crawl.follow_all(at_random(path, site, chance), choose)
            wrong = "\n".join(crawl.wrong[:20])
            assert not crawl.wrong, f"{len(crawl.wrong)} of {crawl.followed}, seed {self.seed}:\n{wrong}"
            assert sum(crawl.followed.values()) >= LEAST_FOLLOWED, crawl.followed


def demo(factory: pytest.TempPathFactory) -> Path:
    folder = prebuilt.copy_of("demo-of-two-months", build_demo, factory)
    settings = folder / "trainfare.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + SIGN_IN, encoding="utf-8")
    return folder


def test_figures_of_the_demo_lead_to_the_same_figures(tmp_path_factory: pytest.TempPathFactory) -> None:
    with serve(demo(tmp_path_factory)) as site:
        Journey(viewers=["all", "nlp"]).follow(site)


def test_figures_of_a_random_company_lead_to_the_same_figures(tmp_path: Path) -> None:
    furnish_at_random(tmp_path, soak.SEED)
    with serve(tmp_path) as site:
        Journey(rounds=3).follow(site)


@pytest.mark.services
def test_figures_with_estimates_budgets_and_converted_bills_lead_to_the_same_figures(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = prebuilt.copy_of("everything", everything.make, tmp_path_factory)
    settings = folder / "trainfare.toml"
    many = 'sign_in = "local"\nrequests_per_minute = 1000000'
    settings.write_text(settings.read_text(encoding="utf-8").replace('sign_in = "local"', many), encoding="utf-8")
    with serve(folder) as site:
        Journey(rounds=2, has_unallocated=False).follow(site)


@pytest.mark.soak
def test_all_figures_of_the_demo_lead_to_the_same_figures(tmp_path_factory: pytest.TempPathFactory) -> None:
    soak.announce("links of the demo", soak.SCALE)
    with serve(demo(tmp_path_factory)) as site:
        Journey(rounds=soak.SCALE, is_sample=False).follow(site)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(1, 1 + soak.SCALE))
def test_all_figures_of_any_company_lead_to_the_same_figures(number: int, tmp_path: Path) -> None:
    soak.announce("links of a random company", soak.SCALE)
    furnish_at_random(tmp_path, soak.SEED + number)
    with serve(tmp_path) as site:
        Journey(soak.SEED + number, rounds=10, is_sample=False).follow(site)


def test_a_wrong_answer_a_missing_one_and_an_unmarked_figure_are_found() -> None:
    """The test above can fail."""
    asked = {"url": "/b", "measure": "total", "value": "1.50", "currency": "USD", "basis": "effective"}
    marked = html.escape(json.dumps(asked))
    link = f'<a href="/b" data-question="{marked}">1.50</a>'

    def shown(value: str) -> str:
        return f'<div class="value" data-answers="{html.escape(json.dumps([asked | {"value": value}]))}">{value}</div>'

    for target, wrong in (
        (shown("1.50"), 0),
        (shown("1.51"), 1),
        ("", 1),
        (shown("1.50").replace(">1.50", ">9.99"), 0),
    ):
        crawl = Crawl(lambda url, target=target: (200, {"/a": link, "/b": target}[url]))
        assert crawl.follow_all("/a") == 1
        assert len(crawl.wrong) == wrong, crawl.wrong
    assert read(shown("1.50").replace(">1.50", ">9.99")).faults
    assert read('<a href="/c">1,234.50</a>').faults
    assert read(link.replace(">1.50", ">1.49")).faults
    assert read(link.replace('href="/b"', 'href="/c"')).faults
    chart = '<script type="application/json">{"nodes": [{"value": "1", "link": "/c", "question": null}]}</script>'
    assert read(chart).faults
    assert not read(link).faults
