"""Journeys through the pages. Amounts are the same at every step, and the same as those of the command line."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, Download
from web.server import serving

from .visitor import Visitor

VALUE = ".stat .value"


def run_json(workspace: Path, *arguments: str) -> Any:
    """The JSON output of a command."""
    command = [sys.executable, "-m", "trainfare", *arguments, "-w", str(workspace), "--format", "json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_from_the_total_to_a_bill_line_and_back(visitor: Visitor, workspace: Path):
    page = visitor.page
    report = run_json(workspace, "report", "--by", "team")
    costs = {row["team"]: row["cost"] for row in report["rows"]}

    visitor.open("/")
    assert visitor.digits(VALUE) == report["total"]
    assert report["difference"] == "0.00"
    assert page.locator(".badge", has_text="ties out to the bill").is_visible()

    visitor.follow(page.locator("#teams tbody tr", has_text="nlp").locator("td.number a"))
    assert visitor.digits(VALUE) == costs["nlp"]

    job = visitor.text("#top-jobs tbody a")
    in_table = page.locator("#top-jobs tbody tr").first.locator("td.number").first.get_attribute("title")
    explained = run_json(workspace, "explain", job)
    visitor.follow(page.locator("#top-jobs tbody a").first)
    assert visitor.digits(VALUE) == in_table == explained["cost"] == explained["explained"]
    assert page.locator("#pots tfoot td[title]").get_attribute("title") == explained["cost"]

    line = page.locator("#lines tbody tr").first
    location, part = line.locator("a").first.inner_text(), line.locator("td.number").last.get_attribute("title")
    file, number = location.split(":")
    assert (workspace / file).read_text(encoding="utf-8").split("\n")[int(number) - 1].count(",") > 10
    visitor.follow(line.locator("a").first)
    assert location in visitor.text(".stat")
    assert visitor.digits(VALUE) == page.locator("#payers tfoot td[title]").get_attribute("title")
    mine = page.locator("#payers tbody tr", has_text=f"{job}#")
    parts = [Decimal(cell.get_attribute("title") or "") for cell in mine.locator("td.number").all()]
    assert Decimal(part or "") in (*parts, sum(parts, Decimal(0)))

    visitor.follow(mine.first.locator("a"))
    assert visitor.digits(VALUE) == explained["cost"]
    visitor.follow(page.locator(".breadcrumbs a", has_text=job))
    assert visitor.digits(VALUE) == explained["cost"]
    assert page.locator("#categories tfoot td[title]").get_attribute("title") == explained["cost"]


def test_a_line_with_many_payers_shows_the_largest_and_downloads_all(visitor: Visitor, workspace: Path):
    """Tax is split by spend, so every job has a share: the page shows the largest, the file all, and they add up."""
    page = visitor.page
    lines = (workspace / "bill-cloud.csv").read_text(encoding="utf-8").splitlines()
    tax = next(number for number, line in enumerate(lines) if ",Tax," in line)
    visitor.open(f"/cost-trace/line?delivery=1&line={tax}")
    assert page.locator("#payers tbody tr").count() == 150
    link = page.locator("#payers .note a")
    count = int(re.sub(r"\D", "", link.inner_text()))
    assert page.locator("#payers h2").inner_text() == f"Payers, top 150 of {count:,}"
    with page.expect_download() as found:
        link.click()
    rows = list(csv.DictReader(io.StringIO(Path(found.value.path()).read_text(encoding="utf-8"))))
    assert len(rows) == count > 1000
    assert sum(Decimal(row["effective"]) for row in rows) == Decimal(visitor.digits(VALUE))


def test_a_filtered_view_is_a_link(visitor: Visitor, browser: Browser, site: str):
    page = visitor.page
    visitor.open("/jobs")
    everything = page.locator("#listing tfoot td[title]").get_attribute("title")
    with page.expect_response(re.compile("team=speech")):
        page.locator("#filters select[name=team]").select_option("speech")
    page.wait_for_url(re.compile("team=speech"))
    visitor.wait_until_drawn()
    visitor.follow(page.locator("#listing thead a", has_text="Per wall h"))
    shown = page.locator("#listing tbody").inner_text()
    sums = page.locator("#listing tfoot td[title]").get_attribute("title")
    assert sums != everything
    assert "nlp-" not in shown
    with Visitor.start(browser, site, theme="dark") as other:
        other.open(page.url.removeprefix(site))
        assert other.page.locator("#listing tbody").inner_text() == shown
        assert other.page.locator("#listing tfoot td[title]").get_attribute("title") == sums


def test_exports_match_the_page(visitor: Visitor, workspace: Path):
    page = visitor.page
    visitor.open("/?basis=billed")
    report = run_json(workspace, "report", "--by", "team", "--basis", "billed")
    rows = list(csv.DictReader(io.StringIO(_download_text(visitor, "#teams", "CSV"))))
    assert {row["team"]: row["cost"] for row in rows} == {row["team"] or "": row["cost"] for row in report["rows"]}
    exported_json = json.loads(_download_text(visitor, "#teams", "JSON"))
    assert [row["cost"] for row in exported_json["rows"]] == [row["cost"] for row in rows]
    image = _download(visitor, "#teams", "PNG")
    assert Path(image.path()).read_bytes().startswith(b"\x89PNG")
    visitor.open("/jobs?team=vision&size=25")
    shown = [cell.inner_text() for cell in page.locator("#listing tbody td:nth-child(2)").all()]
    exported = list(csv.DictReader(io.StringIO(_download_text(visitor, "#listing", "CSV of this page"))))
    assert [row["job"] for row in exported] == shown
    complete = list(csv.DictReader(io.StringIO(_download_text(visitor, "#listing", "CSV of all"))))
    assert len(complete) == len({row["job"] for row in complete}) == 731


def _download(visitor: Visitor, panel: str, what: str) -> Download:
    menu = visitor.page.locator(f"{panel} > header details.menu")
    menu.locator("summary").click()
    with visitor.page.expect_download() as found:
        menu.get_by_text(what).click()
    return found.value


def _download_text(visitor: Visitor, panel: str, what: str) -> str:
    return Path(_download(visitor, panel, what).path()).read_text(encoding="utf-8")


def test_jobs_are_compared_side_by_side(visitor: Visitor):
    page = visitor.page
    visitor.open("/jobs")
    names = [cell.inner_text() for cell in page.locator("#listing tbody td:nth-child(2)").all()[:2]]
    costs = [row.locator("td.number").nth(3).inner_text() for row in page.locator("#listing tbody tr").all()[:2]]
    for name in names:
        page.get_by_label(f"Compare {name}").check()
    visitor.follow(page.get_by_role("button", name="Compare selected"))
    assert [cell.inner_text() for cell in page.locator("#compare th").all()[1:]] == [
        *names,
        f"{names[1]} vs. {names[0]}",
    ]
    row = page.locator("#compare tbody tr", has=page.get_by_text("Cost", exact=True))
    assert [cell.inner_text() for cell in row.locator("td").all()[1:3]] == costs


def test_dragging_across_days_selects_them_and_clicking_one_traces_its_cost(visitor: Visitor):
    page = visitor.page
    visitor.open("/")
    box = page.locator("#by-day-chart").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.3, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.4, middle, steps=4)
    page.mouse.move(box["x"] + box["width"] * 0.5, middle, steps=4)
    page.mouse.up()
    page.wait_for_url(re.compile("from=2026-10-"))
    visitor.wait_until_drawn()
    query = parse_qs(urlsplit(page.url).query)
    assert query["from"][0] < query["to"][0]
    assert 4 <= page.locator("#by-day tbody tr").count() <= 12
    middle_of_chart = page.locator("#by-day-chart").bounding_box()
    assert middle_of_chart is not None
    url = page.url
    rows = [row.locator("td").all() for row in page.locator("#by-day tbody tr").all()]
    totals = {cells[0].text_content(): cells[-1].get_attribute("title") for cells in rows}
    page.locator("#by-day-chart").click(
        position={"x": middle_of_chart["width"] / 2, "y": middle_of_chart["height"] / 2}
    )
    page.wait_for_function("(url) => location.href !== url", arg=url)
    visitor.wait_until_drawn()
    day = parse_qs(urlsplit(page.url).query)["day"][0]
    assert urlsplit(page.url).path == "/cost-trace"
    assert totals[day] == visitor.digits(VALUE)


def test_keyboard_shortcuts_and_the_theme(visitor: Visitor):
    page = visitor.page
    visitor.open("/")
    page.keyboard.press("g")
    page.keyboard.press("j")
    page.wait_for_url(re.compile("/jobs"))
    visitor.wait_until_drawn()
    page.keyboard.press("/")
    page.keyboard.type("nlp-0000")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("q=nlp-0000"))
    visitor.wait_until_drawn()
    assert page.locator("#listing tbody tr").count() == 6
    page.locator("body").press("?")
    assert page.locator("#shortcuts").is_visible()
    page.keyboard.press("Escape")
    page.locator("[data-theme-toggle]").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    visitor.open("/rules")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_period_picker_and_the_comparison(visitor: Visitor):
    page = visitor.page
    visitor.open("/")
    assert "September 2026" in visitor.text("#changes h2")
    assert page.locator(".stat .delta").count() == 3
    assert "vs. September 2026" in visitor.text(".stat")
    page.locator(".controls details.menu > summary").first.click()
    visitor.follow(page.locator(".ranges a", has_text="September 2026"))
    assert "September 2026" in visitor.text(".status")
    assert "Nothing to compare with" in visitor.text("#changes")


def test_errors_say_what_to_do(visitor: Visitor):
    visitor.expected = ("status of 404", "status of 400")
    for path, what in (
        ("/jobs/nobody", "No such job in this period"),
        ("/?from=yesterday", "'yesterday' is not a time"),
        ("/?from=2020-01&to=2020-01", "No data for this period"),
        ("/jobs?sort=color", "'color desc' is not known"),
        ("/cost-trace/line?delivery=1&line=99999999", "has no line 99999999"),
        ("/nowhere", "Page not found"),
    ):
        response = visitor.page.goto(visitor.site + path)
        assert response is not None
        assert response.status in (400, 404)
        assert "text/html" in response.headers["content-type"]
        assert what.lower() in visitor.page.content().replace("&#39;", "'").lower(), path


def test_a_period_without_data_offers_other_periods(visitor: Visitor):
    visitor.expected = ("status of 404",)
    page = visitor.page
    page.goto(f"{visitor.site}/?from=2020-01&to=2020-01&basis=billed")
    page.locator(".controls details.menu > summary").click()
    visitor.follow(page.locator(".ranges a", has_text="September 2026"))
    assert "September 2026" in visitor.text(".status")
    assert "basis=billed" in page.url


def test_unknown_urls_are_json_for_programs(visitor: Visitor):
    client = visitor.page.context.request
    for path, accept in (("/nowhere", "application/json"), ("/api/v1/nowhere", "text/html")):
        response = client.get(visitor.site + path, headers={"Accept": accept})
        assert response.status == 404
        assert response.headers["content-type"] == "application/problem+json"


def test_comparing_without_a_selection_says_so(visitor: Visitor):
    visitor.open("/jobs")
    visitor.page.get_by_role("button", name="Compare selected").click()
    assert visitor.text(".toast") == "Select jobs to compare first"


def test_a_team_never_sees_another_teams_cost(browser: Browser, workspace: Path, tmp_path: Path):
    """By clicking, by URL, by API, by export and by cost trace: team nlp finds nothing of the others."""
    rows = {row["team"]: row for row in run_json(workspace, "report", "--by", "team")["rows"]}
    jobs = {row["job"]: row["team"] for row in run_json(workspace, "report", "--by", "job", "--by", "team")["rows"]}
    foreign = next(job for job, team in jobs.items() if job and team == "vision")
    others = {job for job, team in jobs.items() if job and team != "nlp"}
    folder = shutil.copytree(workspace, tmp_path / "signed")
    with (folder / "trainfare.toml").open("a", encoding="utf-8") as settings:
        settings.write('\n[serve]\nsign_in = "local"\n')
    command = [sys.executable, "-m", "trainfare", "user", "add", "ana", "--role", "team", "--sees", "team:nlp"]
    subprocess.run([*command, "-w", str(folder)], input="correct horse battery\n", text=True, check=True)
    with serving(folder) as server, Visitor.start(browser, server.url) as visitor:
        visitor.expected = ("404", "403")
        page = visitor.page
        page.goto(f"{server.url}/jobs?size=500")
        assert urlsplit(page.url).path == "/sign-in"
        page.get_by_label("Name").fill("ana")
        page.get_by_label("Password").fill("correct horse battery")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/jobs?size=500")
        visitor.wait_until_drawn()
        shown = page.locator("#listing tbody td:nth-child(2)").all_inner_texts()
        assert len(shown) > 100
        assert not others & {*shown}
        visitor.open("/")
        assert visitor.digits(VALUE) == rows["nlp"]["cost"]
        visitor.open("/jobs?team=vision")
        assert page.locator("#listing .empty").is_visible()
        client = page.context.request
        for path in (f"/jobs/{foreign}", f"/cost-trace/job?job={foreign}", f"/api/v1/jobs/{foreign}/explain"):
            assert client.get(server.url + path).status == 404
        for path in (
            "/monthly-close",
            "/rules",
            "/cost-trace/line?delivery=1&line=1",
            "/statements/2026-10.html?by=team&value=vision",
        ):
            assert client.get(server.url + path).status == 403
        exported = list(csv.DictReader(io.StringIO(client.get(f"{server.url}/export/jobs.csv").text())))
        assert {row["team"] for row in exported} == {"nlp"}
        for path in (
            "/",
            "/efficiency",
            "/cost-trace",
            "/api/v1/report?aggregate=job",
            "/api/v1/machines",
            "/allocation?window=2026-10",
        ):
            text = client.get(server.url + path).text()
            assert rows["vision"]["cost"] not in text
            assert foreign not in text
