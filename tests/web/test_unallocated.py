"""Unallocated cost leads to its services, resources, tags and bill lines, which add up as in the bill."""

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from litestar.testing import TestClient
from workspace import company
from workspace.company import NOVEMBER, OCTOBER, Line
from workspace.folder import Workspace

from trainfare.period import Month
from trainfare.serve.app import create_app

SERVICES, RESOURCES = ("Storage", "Networking", "Logs"), ("bucket-1", "bucket-2", "")
TAGS = ({"env": "dev"}, {"env": "prod", "tier": 'a "b"'}, {})
NOWHERE = "(none)"


@dataclass(frozen=True)
class Tagged(Line):
    """A bill line with tags that mean no label of a job."""

    tags: tuple[tuple[str, str], ...] = ()

    def row(self, month: Month) -> list[str]:
        return [*super().row(month)[:-2], "", json.dumps(dict(self.tags)) if self.tags else ""]


def unallocated_lines(month: Month) -> list[Tagged]:
    """Lines that no rule allocates, some of them credits."""
    chance = random.Random(str(month))
    return [
        Tagged(
            month.start + timedelta(days=chance.randrange(15)),
            Decimal(chance.randrange(-(10**13), 10**14)).scaleb(-12),
            chance.choice(RESOURCES),
            service=chance.choice(SERVICES),
            tags=tuple(chance.choice(TAGS).items()),
        )
        for _ in range(40)
    ]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder: Path = tmp_path_factory.mktemp("unallocated") / "workspace"
    made = Workspace(folder)
    for month in (OCTOBER, NOVEMBER):
        made.write_bill(month, [*company.lines(month), *unallocated_lines(month)])
        made.write_jobs(month)
    made.write("machines.csv", company.machines())
    made.write("trainfare.toml", company.settings())
    made.build()
    with TestClient(create_app(folder)) as opened:
        yield opened


def shown(client: TestClient, panel: str, key: str, query: str) -> dict[str, Decimal]:
    rows = client.get(f"/panels/unallocated/{panel}.json?{query}").json()["rows"]
    return {row[key]: Decimal(row["cost"]) for row in rows}


def added_up(lines: list[Tagged], key: str) -> dict[str, Decimal]:
    """The model: the lines of the bill added up in plain Python; a line counts under each of its tags."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for line in lines:
        tags = [f"{name}={value}" for name, value in line.tags] or ["(no tags)"]
        names = {"services": [f"{line.service} service"], "resources": [line.machine or NOWHERE], "tags": tags}
        for name in names[key]:
            sums[name] += line.cost
    return dict(sums)


@pytest.mark.parametrize("months", [(NOVEMBER,), (OCTOBER, NOVEMBER)])
@pytest.mark.parametrize("panel", ["services", "resources", "tags"])
def test_unallocated_cost_is_what_the_bill_says(client: TestClient, panel: str, months: tuple[Month, ...]) -> None:
    lines = [line for month in months for line in unallocated_lines(month)]
    query = f"from={months[0]}&to={months[-1]}"
    assert shown(client, panel, "value", query) == added_up(lines, panel)
    narrowed = [line for line in lines if line.service == "Logs" and not line.machine]
    assert shown(client, panel, "value", f"{query}&service=Logs+service&resource_id=(none)") == added_up(
        narrowed, panel
    )
    of_tag = [line for line in lines if ("tier", 'a "b"') in line.tags and line.day.day in (3, 4)]
    filters = "tag=tier%3Da+%22b%22&day=2026-11-03&day=2026-11-04&day=2026-10-03&day=2026-10-04"
    assert shown(client, panel, "value", f"{query}&{filters}") == added_up(of_tag, panel)


def test_the_lines_are_those_of_the_bill_and_lead_to_their_payers(client: TestClient) -> None:
    lines = unallocated_lines(NOVEMBER)
    found = client.get("/panels/unallocated/lines.json?from=2026-11&to=2026-11").json()["rows"]
    assert sorted(Decimal(row["cost"]) for row in found) == sorted(line.cost for line in lines)
    page = client.get("/unallocated?from=2026-11&to=2026-11", headers={"Accept": "text/html"}).text
    assert page.count('href="/cost-trace/line?') == 2 * len(lines)


def test_settings_that_would_allocate_it_are_always_shown(client: TestClient) -> None:
    page = client.get("/unallocated?from=2026-11&to=2026-11", headers={"Accept": "text/html"}).text
    assert "[[rule]]" in page.partition('class="settings"')[2].partition("</pre>")[0]
