"""The findings page shows what `trainfare check` reports, with the same thresholds and acceptances."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from workspace.conftest import furnish

from .server import serving


def test_the_findings_page_equals_the_check_command(tmp_path: Path) -> None:
    made = furnish(tmp_path / "workspace")
    settings = (made.folder / "trainfare.toml").read_text(encoding="utf-8")
    made.write("trainfare.toml", f"{settings}\n[check]\nowner_coverage = 90\n")
    made.build()
    command = ("check", "--month", "2026-10", "--format", "json")
    month = "from=2026-10&to=2026-10"
    with serving(made.folder) as server:
        listed = [one for one in json.loads(made.run(*command).out)["findings"] if one["limit"] is not None]
        rows = server.ask(f"/panels/findings/cost-risks.json?{month}").json["rows"]
        assert [(row["code"], row["at_stake"], row["what"]) for row in rows] == [
            (one["code"], one["at_stake"], one["what"]) for one in listed
        ]
        owners = next(row for row in rows if row["code"] == "F1-OWNERS")
        assert owners["status"].startswith("over threshold"), "its job log names no owner"
        before = server.ask(f"/findings?{month}")
        assert "over threshold" in before.text
        until = datetime.now(UTC).date() + timedelta(days=9)
        made.run("check", "--month", "2026-10", "--accept", "F1-OWNERS", "--reason", "new log", "--until", f"{until}")
        after = server.ask(f"/findings?{month}", headers={"If-None-Match": before.headers["etag"]})
        assert after.status == 200
        assert f"accepted until {until}: new log" in after.text
