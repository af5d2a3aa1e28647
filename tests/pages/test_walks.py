"""Walks through the pages, as people take them. Figures are the same at every step, and the same as the command's."""

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

VALUE = ".figure .value"


def told(workspace: Path, *arguments: str) -> Any:
    """What the command says, as JSON."""
    command = [sys.executable, "-m", "trainfare", *arguments, "-w", str(workspace), "--format", "json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_from_the_total_to_a_bill_line_and_back(visitor: Visitor, workspace: Path):
    page = visitor.page
    report = told(workspace, "report", "--by", "team")
    costs = {row["team"]: row["cost"] for row in report["rows"]}

    visitor.opens("/")
    assert visitor.digits(VALUE) == report["total"]
    assert report["difference"] == "0.00"
    assert page.locator(".badge", has_text="ties out to the bill").is_visible()

    visitor.follows(page.locator("#teams tbody tr", has_text="nlp").locator("td.number a"))
    assert visitor.digits(VALUE) == costs["nlp"]

    job = visitor.text("#dearest tbody a")
    in_table = page.locator("#dearest tbody tr").first.locator("td.number").first.get_attribute("title")
    explained = told(workspace, "explain", job)
    visitor.follows(page.locator("#dearest tbody a").first)
    assert visitor.digits(VALUE) == in_table == explained["cost"] == explained["opened"]
    assert page.locator("#pots tfoot td[title]").get_attribute("title") == explained["cost"]

    line = page.locator("#lines tbody tr").first
    place, part = line.locator("a").inner_text(), line.locator("td.number").last.get_attribute("title")
    file, number = place.split(":")
    assert (workspace / file).read_text(encoding="utf-8").split("\n")[int(number) - 1].count(",") > 10
    visitor.follows(line.locator("a"))
    assert place in visitor.text(".figure")
    assert visitor.digits(VALUE) == page.locator("#payers tfoot td[title]").get_attribute("title")
    mine = page.locator("#payers tbody tr", has_text=f"{job}#")
    parts = [Decimal(cell.get_attribute("title") or "") for cell in mine.locator("td.number").all()]
    assert Decimal(part or "") in (*parts, sum(parts, Decimal(0)))

    visitor.follows(mine.first.locator("a"))
    assert visitor.digits(VALUE) == explained["cost"]
    visitor.follows(page.locator(".crumbs a", has_text=job))
    assert visitor.digits(VALUE) == explained["cost"]
    assert page.locator("#categories tfoot td[title]").get_attribute("title") == explained["cost"]


def test_a_line_that_everybody_pays_is_told_in_part_and_whole_as_a_file(visitor: Visitor, workspace: Path):
    """Tax is shared by spend, so every job has a part of it: the page has the dearest, the file all, and they add up."""
    page = visitor.page
    lines = (workspace / "bill-cloud.csv").read_text(encoding="utf-8").splitlines()
    tax = next(number for number, line in enumerate(lines) if ",Tax," in line)
    visitor.opens(f"/dollar/line?delivery=1&line={tax}")
    assert page.locator("#payers tbody tr").count() == 150
    link = page.locator("#payers .note a")
    count = int(re.sub(r"\D", "", link.inner_text()))
    assert page.locator("#payers h2").inner_text() == f"Everyone who pays a part, the dearest 150 of {count:,}"
    with page.expect_download() as found:
        link.click()
    rows = list(csv.DictReader(io.StringIO(Path(found.value.path()).read_text(encoding="utf-8"))))
    assert len(rows) == count > 1000
    assert sum(Decimal(row["effective"]) for row in rows) == Decimal(visitor.digits(VALUE))


def test_a_filtered_view_is_a_link(visitor: Visitor, browser: Browser, site: str):
    page = visitor.page
    visitor.opens("/jobs")
    everything = page.locator("#listing tfoot td[title]").get_attribute("title")
    with page.expect_response(re.compile("team=speech")):
        page.locator("#filters select[name=team]").select_option("speech")
    page.wait_for_url(re.compile("team=speech"))
    visitor.settles()
    visitor.follows(page.locator("#listing thead a", has_text="Per hour"))
    shown = page.locator("#listing tbody").inner_text()
    sums = page.locator("#listing tfoot td[title]").get_attribute("title")
    assert sums != everything
    assert "nlp-" not in shown
    with Visitor.arriving(browser, site, theme="dark") as other:
        other.opens(page.url.removeprefix(site))
        assert other.page.locator("#listing tbody").inner_text() == shown
        assert other.page.locator("#listing tfoot td[title]").get_attribute("title") == sums


def test_what_is_exported_is_what_is_shown(visitor: Visitor, workspace: Path):
    page = visitor.page
    visitor.opens("/?basis=billed")
    report = told(workspace, "report", "--by", "team", "--basis", "billed")
    rows = list(csv.DictReader(io.StringIO(_saved(visitor, "#teams", "CSV"))))
    assert {row["team"]: row["cost"] for row in rows} == {row["team"] or "": row["cost"] for row in report["rows"]}
    answered = json.loads(_saved(visitor, "#teams", "JSON"))
    assert [row["cost"] for row in answered["rows"]] == [row["cost"] for row in rows]
    picture = _download(visitor, "#teams", "PNG")
    assert Path(picture.path()).read_bytes().startswith(b"\x89PNG")
    visitor.opens("/jobs?team=vision&size=25")
    shown = [cell.inner_text() for cell in page.locator("#listing tbody td:nth-child(2)").all()]
    exported = list(csv.DictReader(io.StringIO(_saved(visitor, "#listing", "CSV of this page"))))
    assert [row["job"] for row in exported] == shown
    whole = list(csv.DictReader(io.StringIO(_saved(visitor, "#listing", "CSV of all"))))
    assert len(whole) == len({row["job"] for row in whole}) == 731


def _download(visitor: Visitor, panel: str, what: str) -> Download:
    menu = visitor.page.locator(f"{panel} > header details.menu")
    menu.locator("summary").click()
    with visitor.page.expect_download() as found:
        menu.get_by_text(what).click()
    return found.value


def _saved(visitor: Visitor, panel: str, what: str) -> str:
    return Path(_download(visitor, panel, what).path()).read_text(encoding="utf-8")


def test_jobs_are_compared_side_by_side(visitor: Visitor):
    page = visitor.page
    visitor.opens("/jobs")
    names = [cell.inner_text() for cell in page.locator("#listing tbody td:nth-child(2)").all()[:2]]
    costs = [row.locator("td.number").nth(3).inner_text() for row in page.locator("#listing tbody tr").all()[:2]]
    for name in names:
        page.get_by_label(f"Compare {name}").check()
    visitor.follows(page.get_by_role("button", name="Compare chosen"))
    assert [cell.inner_text() for cell in page.locator("#compare th").all()[1:]] == names
    row = page.locator("#compare tbody tr", has=page.get_by_text("Cost", exact=True))
    assert [cell.inner_text() for cell in row.locator("td").all()[1:]] == costs


def test_dragging_over_days_and_the_legend(visitor: Visitor):
    page = visitor.page
    visitor.opens("/")
    box = page.locator("#by-day-chart").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.3, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.4, middle, steps=4)
    page.mouse.move(box["x"] + box["width"] * 0.5, middle, steps=4)
    page.mouse.up()
    page.wait_for_url(re.compile("from=2026-10-"))
    visitor.settles()
    asked = parse_qs(urlsplit(page.url).query)
    assert asked["from"][0] < asked["to"][0]
    assert 4 <= page.locator("#by-day tbody tr").count() <= 12


def test_the_keyboard_and_the_colours(visitor: Visitor):
    page = visitor.page
    visitor.opens("/")
    page.keyboard.press("g")
    page.keyboard.press("j")
    page.wait_for_url(re.compile("/jobs"))
    visitor.settles()
    page.keyboard.press("/")
    page.keyboard.type("nlp-0000")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("q=nlp-0000"))
    visitor.settles()
    assert page.locator("#listing tbody tr").count() == 6
    page.locator("body").press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    page.locator("[data-theme-toggle]").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    visitor.opens("/rules")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_time_picker_and_the_period_before(visitor: Visitor):
    page = visitor.page
    visitor.opens("/")
    assert "September 2026" in visitor.text("#changed h2")
    assert page.locator(".figure .delta").count() == 3
    page.locator(".controls details.menu > summary").first.click()
    visitor.follows(page.locator(".ranges a", has_text="September 2026"))
    assert "September 2026" in visitor.text(".status")
    assert "There is nothing to compare with" in visitor.text("#changed")


def test_what_cannot_be_shown_says_what_to_do(visitor: Visitor):
    visitor.expected = ("status of 404", "status of 400")
    for path, what in (
        ("/jobs/nobody", "There is no such job in these books"),
        ("/?from=yesterday", "'yesterday' is not a time"),
        ("/?from=2020-01&to=2020-01", "There is no book of this time"),
        ("/jobs?sort=colour", "'colour desc' is not known"),
        ("/dollar/line?delivery=1&line=99999999", "has no line 99999999"),
        ("/nowhere", "Not Found"),
    ):
        answer = visitor.page.goto(visitor.site + path)
        assert answer is not None
        assert answer.status in (400, 404)
        assert what.lower() in visitor.page.content().replace("&#39;", "'").lower(), path


def test_a_team_that_signs_in_never_sees_another(browser: Browser, workspace: Path, tmp_path: Path):
    """By clicking, by address, by API, by export and by explanation: team nlp finds nothing of the others."""
    rows = {row["team"]: row for row in told(workspace, "report", "--by", "team")["rows"]}
    jobs = {row["job"]: row["team"] for row in told(workspace, "report", "--by", "job", "--by", "team")["rows"]}
    foreign = next(job for job, team in jobs.items() if job and team == "vision")
    others = {job for job, team in jobs.items() if job and team != "nlp"}
    folder = shutil.copytree(workspace, tmp_path / "signed")
    with (folder / "trainfare.toml").open("a", encoding="utf-8") as settings:
        settings.write('\n[serve]\nsign_in = "local"\n')
    command = [sys.executable, "-m", "trainfare", "user", "add", "ana", "--role", "team", "--sees", "team:nlp"]
    subprocess.run([*command, "-w", str(folder)], input="correct horse battery\n", text=True, check=True)
    with serving(folder) as server, Visitor.arriving(browser, server.url) as visitor:
        visitor.expected = ("404", "403")
        page = visitor.page
        page.goto(f"{server.url}/jobs?size=500")
        assert urlsplit(page.url).path == "/sign-in"
        page.get_by_label("Name").fill("ana")
        page.get_by_label("Password").fill("correct horse battery")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/jobs?size=500")
        visitor.settles()
        shown = page.locator("#listing tbody td:nth-child(2)").all_inner_texts()
        assert len(shown) > 100
        assert not others & {*shown}
        visitor.opens("/")
        assert visitor.digits(VALUE) == rows["nlp"]["cost"]
        visitor.opens("/jobs?team=vision")
        assert page.locator("#listing .empty").is_visible()
        asked = page.context.request
        for path in (f"/jobs/{foreign}", f"/dollar/job?job={foreign}", f"/api/v1/jobs/{foreign}/explain"):
            assert asked.get(server.url + path).status == 404
        for path in (
            "/books",
            "/rules",
            "/dollar/line?delivery=1&line=1",
            "/statements/2026-10.html?by=team&value=vision",
        ):
            assert asked.get(server.url + path).status == 403
        exported = list(csv.DictReader(io.StringIO(asked.get(f"{server.url}/export/jobs.csv").text())))
        assert {row["team"] for row in exported} == {"nlp"}
        for path in (
            "/",
            "/debug",
            "/dollar",
            "/api/v1/report?aggregate=job",
            "/api/v1/machines",
            "/allocation?window=2026-10",
        ):
            text = asked.get(server.url + path).text()
            assert rows["vision"]["cost"] not in text
            assert foreign not in text
