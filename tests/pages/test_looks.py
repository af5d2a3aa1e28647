"""Every page, light and dark, wide and narrow: drawn without a fault, kept as a picture, readable by everybody."""

import gzip
import json
import re
from decimal import Decimal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Response
from workspace import everything

from .conftest import ROOT, SHOTS
from .visitor import Visitor

PAGES = {
    "executive": "/",
    "executive-week": "/?from=2026-10-06&to=2026-10-13&team=nlp",
    "jobs": "/jobs",
    "jobs-grouped": "/jobs?by=project",
    "jobs-compared": "/jobs?pick=nlp-00002&pick=nlp-00005",
    "job": "/jobs/nlp-00002",
    "debug": "/debug",
    "dollar": "/dollar",
    "dollar-job": "/dollar/job?job=nlp-00002",
    "dollar-line": "/dollar/line?delivery=1&line=10790",
    "books": "/books",
    "findings": "/findings",
    "rules": "/rules",
}
LOOKS = [("light", 1280), ("dark", 390), ("dark", 1280), ("light", 390)]
AXE = ROOT / "build" / "assets" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_every_page_is_drawn_without_a_fault(browser: Browser, site: str, theme: str, width: int):
    folder = SHOTS / f"{theme}-{width}"
    folder.mkdir(parents=True, exist_ok=True)
    with Visitor.arriving(browser, site, width, theme) as visitor:
        for name, path in PAGES.items():
            visitor.opens(path)
            wide = visitor.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{name} is wider than the screen: {wide}"
            assert visitor.page.locator("h1").count() == 1
            visitor.page.screenshot(path=folder / f"{name}.png", full_page=True)


BEHIND_SIGN_IN = {
    "everything-executive": "/",
    "everything-debug": "/debug",
    "everything-job": "/jobs/late-2",
    "everything-dollar-job": "/dollar/job?job=late-2",
    "everything-books": "/books?from=2026-10&to=2026-10",
    "everything-close": "/close?month=2026-10",
}


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_estimates_budgets_rates_and_measurements_are_seen(browser: Browser, signed_site: str, theme: str, width: int):
    """Somebody of finance signs in to a month that is billed in part, in two currencies, and measured."""
    folder = SHOTS / f"{theme}-{width}"
    folder.mkdir(parents=True, exist_ok=True)
    script = AXE.read_text(encoding="utf-8")
    with Visitor.arriving(browser, signed_site, width, theme) as visitor:
        page = visitor.page
        page.goto(f"{signed_site}/")
        page.screenshot(path=folder / "sign-in.png", full_page=True)
        page.get_by_label("Name").fill("fin")
        page.get_by_label("Password").fill(everything.PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{signed_site}/")
        for name, path in BEHIND_SIGN_IN.items():
            visitor.opens(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            page.screenshot(path=folder / f"{name}.png", full_page=True)
            page.evaluate(script + "; 0")
            answer = json.loads(page.evaluate("axe.run().then((found) => JSON.stringify(found))"))
            serious = [one["id"] for one in answer["violations"] if one["impact"] in ("serious", "critical")]
            assert not serious, (name, serious)
        visitor.opens("/jobs/late-2")
        assert page.locator(".legend", has_text="estimated").is_visible()
        cell = page.locator("#categories tfoot td.estimated")
        whole, expected = re.findall(r"[\d.]+", cell.get_attribute("title") or "")
        apart = page.locator(".figure .beside").first.inner_text().replace(",", "")
        billed, estimated = map(Decimal, re.findall(r"[\d.]+", apart))
        assert (billed, estimated) == (round(Decimal(whole) - Decimal(expected), 2), round(Decimal(expected), 2))
        visitor.opens("/dollar/job?job=late-2")
        for panel in ("flow", "pots", "lines"):
            part = page.locator(f"#{panel} tfoot td.estimated").get_attribute("title")
            assert Decimal(re.findall(r"[\d.]+", part or "")[-1]) == Decimal(expected), panel
        visitor.opens("/books?from=2026-10&to=2026-10")
        assert "1.1204" in page.locator("#conversions").inner_text()
        assert page.locator(".legend").count() == 0, "October is billed whole"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_stands_in_anybodys_way(browser: Browser, site: str, theme: str):
    """axe on every page; what it calls serious or critical is a fault."""
    script = AXE.read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    with Visitor.arriving(browser, site, theme=theme) as visitor:
        for name, path in PAGES.items():
            visitor.opens(path)
            visitor.page.evaluate(script + "; 0")
            answer = json.loads(visitor.page.evaluate("axe.run().then((found) => JSON.stringify(found))"))
            assert len(answer["passes"]) > 10, "axe looked at nothing"
            found[name] = [
                f"{fault['id']}: {fault['nodes'][0]['html'][:160]} {fault['nodes'][0]['failureSummary'][:200]}"
                for fault in answer["violations"]
                if fault["impact"] in ("serious", "critical")
            ]
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_pages_are_readable_without_scripts(browser: Browser, site: str):
    """Tables are there, open, with their figures; no empty place is kept for charts."""
    with Visitor.arriving(browser, site, scripts=False) as visitor:
        visitor.opens("/")
        assert visitor.page.locator("#by-day table").is_visible()
        assert not visitor.page.locator("#by-day-chart").is_visible()
        assert visitor.page.locator("#by-day tbody tr").count() == 32
        visitor.page.locator("select[name=basis]").select_option("billed")
        visitor.page.get_by_role("button", name="Apply").click()
        assert "basis=billed" in visitor.page.url


def test_a_page_prints_on_paper(visitor: Visitor):
    visitor.opens("/")
    visitor.page.emulate_media(media="print")
    assert not visitor.page.locator(".bar").is_visible()
    printed = visitor.page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    (SHOTS / "executive.pdf").write_bytes(printed)


def test_the_first_page_asks_for_little_script(visitor: Visitor):
    """Under 350 kB, compressed as a browser gets it."""
    sizes: dict[str, int] = {}

    def weigh(answer: Response) -> None:
        if urlsplit(answer.url).path.endswith(".js"):
            sizes[answer.url] = len(gzip.compress(answer.body()))

    visitor.page.on("response", weigh)
    visitor.opens("/")
    assert len(sizes) >= 3
    assert sum(sizes.values()) < 350_000, sizes
