"""Errors are pages for people in a browser and problem+json for programs; an empty period leads to the nearest one."""

from collections.abc import Iterator

import pytest
from litestar.testing import TestClient
from workspace.folder import Workspace

from trainfare.serve.app import create_app
from trainfare.serve.pages import overview

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PROGRAM = {"Accept": "application/json"}
SECRET = "something in /somewhere/private"


@pytest.fixture(scope="module")
def client(company: Workspace) -> Iterator[TestClient]:
    with TestClient(create_app(company.folder), raise_server_exceptions=False) as opened:
        yield opened


@pytest.mark.parametrize(
    ("path", "status"), [("/nothing-here", 404), ("/docs", 404), ("/dollar/line/x", 404), ("/jobs?page=x", 400)]
)
def test_an_unknown_url_is_a_page_in_a_browser_and_json_for_a_program(
    client: TestClient, path: str, status: int
) -> None:
    found = client.get(path, headers=BROWSER)
    assert (found.status_code, found.headers["content-type"].split(";")[0]) == (status, "text/html")
    assert 'href="/"' in found.text
    if status == 404:
        assert client.get(path, headers=PROGRAM).headers["content-type"] == "application/problem+json"


def test_an_error_of_ours_is_a_page_that_tells_nothing(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(context: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(overview, "stats", fail)
    found = client.get("/?theme=dark", headers=BROWSER)
    assert (found.status_code, found.headers["content-type"].split(";")[0]) == (500, "text/html")
    assert "Internal error; please report it" in found.text
    assert SECRET not in found.text
    program = client.get("/?theme=dark", headers=PROGRAM)
    assert (program.status_code, program.headers["content-type"]) == (500, "application/problem+json")


@pytest.mark.parametrize(
    ("period", "nearest"),
    [("2020-01", "2026-10"), ("2026-09", "2026-10"), ("2026-12", "2026-11"), ("2031-05", "2026-11")],
)
def test_a_period_without_data_offers_the_nearest_one_that_has_some(
    client: TestClient, period: str, nearest: str
) -> None:
    found = client.get(f"/jobs?from={period}&to={period}&team=nlp", headers=BROWSER)
    assert found.status_code == 404
    link = found.text.partition('class="nearest" href="')[2].partition('"')[0].replace("&amp;", "&")
    assert link == f"/jobs?team=nlp&from={nearest}&to={nearest}"
    assert client.get(link, headers=BROWSER).status_code == 200


def test_an_exact_job_id_opens_the_job_and_a_part_of_one_lists_jobs(client: TestClient) -> None:
    found = client.get("/jobs?q=alone-2026-11&per=gpu", headers=BROWSER, follow_redirects=False)
    assert (found.status_code, found.headers["location"]) == (303, "/jobs/alone-2026-11?per=gpu")
    for part in ("alone", "ALONE-2026-11", "nobody"):
        assert client.get(f"/jobs?q={part}", headers=BROWSER, follow_redirects=False).status_code == 200


def test_filters_that_a_page_ignores_are_named_as_such(client: TestClient) -> None:
    for path in ("/findings", "/monthly-close"):
        shown = client.get(f"{path}?team=nlp", headers=BROWSER).text
        assert "these filters do not apply here" in shown, path
        assert shown.count('class="chip ignored"') == 1, path
    assert 'class="chip ignored"' not in client.get("/rules?team=nlp", headers=BROWSER).text


def test_a_filter_by_team_says_nothing_about_cost_that_has_no_team(client: TestClient) -> None:
    everything = client.get("/", headers=BROWSER).text
    assert ">Idle</div>" in everything
    for path in ("/?team=nlp", "/?owner=ana", "/?payer=jobs", "/?job=alone-2026-11"):
        shown = client.get(path, headers=BROWSER).text
        assert ">Idle</div>" not in shown, path
        assert "Everything is allocated" not in shown, path
        assert "Not part of this selection" in shown, path
    assert ">Idle</div>" in client.get("/?team=(none)", headers=BROWSER).text


def test_compared_jobs_have_differences_gpu_models_and_categories(client: TestClient) -> None:
    shown = client.get("/jobs?pick=gpu-1-1-2026-11&pick=gpu-2-1-2026-11", headers=BROWSER).text
    panel = shown.partition('id="compare"')[2].partition("</section>")[0]
    assert "gpu-2-1-2026-11 vs. gpu-1-1-2026-11" in panel
    rows = {row[0]: row[1:] for row in table(panel)}
    for name in ("GPU h", "Cost", "Cost: compute"):
        first, second, difference = (float(value.replace(",", "")) for value in rows[name])
        assert difference == pytest.approx(second - first, abs=0.11), name
    assert "GPU models" in rows


def table(panel: str) -> list[list[str]]:
    """The texts of the cells of a table."""
    rows = [row.partition("</tr>")[0] for row in panel.partition("<tbody>")[2].split("<tr")[1:]]
    return [[cell.partition(">")[2].partition("<")[0].strip() for cell in row.split("<td")[1:]] for row in rows]
