"""The page of findings: what `trainfare check` says, by the same limits, and what somebody let stand."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from workspace.conftest import furnish

from .server import serving


def test_the_page_of_findings_is_what_check_says(tmp_path: Path) -> None:
    made = furnish(tmp_path / "workspace")
    settings = (made.folder / "trainfare.toml").read_text(encoding="utf-8")
    made.write("trainfare.toml", f"{settings}\n[check]\nowner_coverage = 90\n")
    made.build()
    asked = ("check", "--month", "2026-10", "--format", "json")
    month = "from=2026-10&to=2026-10"
    with serving(made.folder) as server:
        told = [one for one in json.loads(made.run(*asked).out)["findings"] if one["limit"] is not None]
        rows = server.ask(f"/panels/findings/failures.json?{month}").json["rows"]
        assert [(row["code"], row["at_stake"], row["what"]) for row in rows] == [
            (one["code"], one["at_stake"], one["what"]) for one in told
        ]
        owners = next(row for row in rows if row["code"] == "F1-OWNERS")
        assert owners["standing"].startswith("beyond the limit"), "its job log names no owner"
        before = server.ask(f"/findings?{month}")
        assert "beyond the limit" in before.text
        until = datetime.now(UTC).date() + timedelta(days=9)
        made.run("check", "--month", "2026-10", "--accept", "F1-OWNERS", "--reason", "new log", "--until", f"{until}")
        after = server.ask(f"/findings?{month}", headers={"If-None-Match": before.headers["etag"]})
        assert after.status == 200
        assert f"accepted until {until}: new log" in after.text
