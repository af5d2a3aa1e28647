"""Every page, light and dark, wide and narrow: drawn without errors, saved as a screenshot, accessible."""

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

pytestmark = pytest.mark.services

PAGES = {
    "overview": "/",
    "overview-week": "/?from=2026-10-06&to=2026-10-13&team=nlp",
    "jobs": "/jobs",
    "jobs-grouped": "/jobs?by=project",
    "jobs-compared": "/jobs?pick=nlp-00002&pick=nlp-00005",
    "job": "/jobs/nlp-00002",
    "efficiency": "/efficiency",
    "cost-trace": "/cost-trace",
    "cost-trace-job": "/cost-trace/job?job=nlp-00002",
    "cost-trace-line": "/cost-trace/line?delivery=1&line=10790",
    "monthly-close": "/monthly-close",
    "findings": "/findings",
    "finding": "/findings?code=F1",
    "unallocated": "/unallocated",
    "rules": "/rules",
}
LOOKS = [("light", 1280), ("dark", 390), ("dark", 1280), ("light", 390)]
AXE = ROOT / "build" / "assets" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_every_page_is_drawn_without_errors(browser: Browser, site: str, theme: str, width: int):
    folder = SHOTS / f"{theme}-{width}"
    folder.mkdir(parents=True, exist_ok=True)
    with Visitor.start(browser, site, width, theme) as visitor:
        for name, path in PAGES.items():
            visitor.open(path)
            page_width = visitor.page.evaluate("document.documentElement.scrollWidth")
            assert page_width <= width, f"{name} is wider than the screen: {page_width}"
            assert _links_outside(visitor, width) == [], f"{name}: the navigation is cut off"
            assert visitor.page.locator("h1").count() == 1
            visitor.page.screenshot(path=folder / f"{name}.png", full_page=True)


def _links_outside(visitor: Visitor, width: int) -> list[str]:
    """The links of the navigation that are not fully on screen."""
    boxes = {link.inner_text(): link.bounding_box() for link in visitor.page.locator(".nav a").all()}
    assert len(boxes) == 7
    return [name for name, box in boxes.items() if not box or box["x"] < 0 or box["x"] + box["width"] > width]


BEHIND_SIGN_IN = {
    "everything-overview": "/",
    "everything-efficiency": "/efficiency",
    "everything-job": "/jobs/late-2",
    "everything-cost-trace-job": "/cost-trace/job?job=late-2",
    "everything-monthly-close": "/monthly-close?from=2026-10&to=2026-10",
    "everything-close": "/close?month=2026-10",
}


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_estimates_budgets_rates_and_measurements_are_shown(browser: Browser, signed_site: str, theme: str, width: int):
    """Finance signs in to a month that is partly billed, in two currencies, with measurements."""
    folder = SHOTS / f"{theme}-{width}"
    folder.mkdir(parents=True, exist_ok=True)
    script = AXE.read_text(encoding="utf-8")
    with Visitor.start(browser, signed_site, width, theme) as visitor:
        page = visitor.page
        page.goto(f"{signed_site}/")
        page.screenshot(path=folder / "sign-in.png", full_page=True)
        page.get_by_label("Name").fill("fin")
        page.get_by_label("Password").fill(everything.PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{signed_site}/")
        for name, path in BEHIND_SIGN_IN.items():
            visitor.open(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            page.screenshot(path=folder / f"{name}.png", full_page=True)
            page.evaluate(script + "; 0")
            report = json.loads(page.evaluate("axe.run().then((found) => JSON.stringify(found))"))
            serious = [one["id"] for one in report["violations"] if one["impact"] in ("serious", "critical")]
            assert not serious, (name, serious)
        visitor.open("/jobs/late-2")
        assert page.locator(".legend", has_text="estimated").is_visible()
        cell = page.locator("#categories tfoot td.estimated")
        total, part = re.findall(r"[\d.]+", cell.get_attribute("title") or "")
        detail = page.locator(".stat .detail").first.inner_text().replace(",", "")
        billed, estimated = map(Decimal, re.findall(r"[\d.]+", detail))
        assert (billed, estimated) == (round(Decimal(total) - Decimal(part), 2), round(Decimal(part), 2))
        visitor.open("/cost-trace/job?job=late-2")
        for panel in ("flow", "pots", "lines"):
            title = page.locator(f"#{panel} tfoot td.estimated").get_attribute("title")
            assert Decimal(re.findall(r"[\d.]+", title or "")[-1]) == Decimal(part), panel
        visitor.open("/monthly-close?from=2026-10&to=2026-10")
        assert "1.1204" in page.locator("#conversions").inner_text()
        assert page.locator(".legend").count() == 0, "October is fully billed"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_has_a_serious_accessibility_problem(browser: Browser, site: str, theme: str):
    """axe finds nothing serious or critical on any page."""
    script = AXE.read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    with Visitor.start(browser, site, theme=theme) as visitor:
        for name, path in PAGES.items():
            visitor.open(path)
            visitor.page.evaluate(script + "; 0")
            report = json.loads(visitor.page.evaluate("axe.run().then((found) => JSON.stringify(found))"))
            assert len(report["passes"]) > 10, "axe checked nothing"
            found[name] = [
                f"{one['id']}: {one['nodes'][0]['html'][:160]} {one['nodes'][0]['failureSummary'][:200]}"
                for one in report["violations"]
                if one["impact"] in ("serious", "critical")
            ]
    assert {name: problems for name, problems in found.items() if problems} == {}


def test_pages_are_readable_without_scripts(browser: Browser, site: str):
    """Tables are open and complete; charts leave no empty space."""
    with Visitor.start(browser, site, scripts=False) as visitor:
        visitor.open("/")
        assert visitor.page.locator("#by-day table").is_visible()
        assert not visitor.page.locator("#by-day-chart").is_visible()
        assert visitor.page.locator("#by-day tbody tr").count() == 32
        visitor.page.locator("select[name=basis]").select_option("billed")
        visitor.page.get_by_role("button", name="Apply").click()
        assert "basis=billed" in visitor.page.url


def test_a_page_can_be_printed(visitor: Visitor):
    visitor.open("/")
    visitor.page.emulate_media(media="print")
    assert not visitor.page.locator(".bar").is_visible()
    printed = visitor.page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    (SHOTS / "overview.pdf").write_bytes(printed)


def test_the_first_page_loads_little_script(visitor: Visitor):
    """Under 350 kB, compressed."""
    sizes: dict[str, int] = {}

    def measure(response: Response) -> None:
        if urlsplit(response.url).path.endswith(".js"):
            sizes[response.url] = len(gzip.compress(response.body()))

    visitor.page.on("response", measure)
    visitor.open("/")
    assert len(sizes) >= 3
    assert sum(sizes.values()) < 350_000, sizes
