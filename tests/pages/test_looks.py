"""Every page, light and dark, wide and narrow: drawn without a fault, kept as a picture, readable by everybody."""

import gzip
import json
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Response

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
