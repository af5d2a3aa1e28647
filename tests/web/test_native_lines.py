"""A line of a native bill: its row, the mapping and the FOCUS line side by side, on its page and in the API."""

import html
import re
import subprocess
from pathlib import Path

from .server import COMMAND, serving

REPORT = """\
lineItem/referenceNo,lineItem/tenantId,lineItem/intervalUsageStart,lineItem/intervalUsageEnd,product/service,\
product/compartmentId,product/region,product/resourceId,usage/billedQuantity,product/Description,cost/unitPrice,\
cost/myCost,cost/currencyCode,lineItem/isCorrection
ref-1,t,2026-10-13T07:00Z,2026-10-13T08:00Z,COMPUTE,c,eu-frankfurt-1,ocid1.instance.a,8,BM.GPU.H100.8,10,76.25,USD,false
"""
FOCUS = """\
BilledCost,EffectiveCost,ChargePeriodStart,ChargePeriodEnd,BillingCurrency,ResourceId,ServiceCategory
5,5,2026-10-13T07:00:00Z,2026-10-13T08:00:00Z,USD,other,Compute
"""
JOBS = """\
job_id,attempt,machine_id,started,ended,gpus
a,1,ocid1.instance.a,2026-10-13T07:00:00Z,2026-10-13T08:00:00Z,8
a,1,other,2026-10-13T07:00:00Z,2026-10-13T08:00:00Z,1
"""
SETTINGS = "".join(f"[[source]]\npath = '{name}'\n" for name in ("report.csv", "focus.csv", "jobs.csv"))


def test_a_line_shows_its_native_row_next_to_what_it_became(tmp_path: Path) -> None:
    for name, text in (("report.csv", REPORT), ("focus.csv", FOCUS), ("jobs.csv", JOBS), ("trainfare.toml", SETTINGS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run([COMMAND, "build", "-w", tmp_path], check=True, capture_output=True)
    with serving(tmp_path) as server:
        lines = server.ask("/api/v1/jobs/a/explain?month=2026-10").json["lines"]
        native, focus = sorted(lines, key=lambda line: str(line["file"]), reverse=True)
        assert (native["file"], focus["file"]) == ("report.csv", "focus.csv")
        answer = server.ask(f"/api/v1/lines/{native['delivery']}/{native['line']}?month=2026-10").json
        made = answer["conversion"]
        assert made["native"]["lineItem/referenceNo"] == "ref-1"
        assert made["mapping"]["EffectiveCost"] == '"cost/myCost"'
        assert made["focus"]["EffectiveCost"].rstrip("0") == "76.25"
        assert answer["line"]["effective"].rstrip("0") == "76.25"
        page = server.ask(
            f"/cost-trace/line?delivery={native['delivery']}&line={native['line']}&from=2026-10&to=2026-10"
        )
        shown = html.unescape(re.sub(r"<[^>]+>", " ", page.text))
        assert "From the row at report.csv:2 to FOCUS" in shown
        for text in ("cost/myCost=76.25", "EffectiveCost", "lineItem/referenceNo=ref-1"):
            assert text in shown
        plain = f"/lines/{focus['delivery']}/{focus['line']}?month=2026-10"
        assert server.ask(f"/api/v1{plain}").json["conversion"] is None
        page = server.ask(f"/cost-trace/line?delivery={focus['delivery']}&line={focus['line']}&from=2026-10&to=2026-10")
        assert page.status == 200
        assert "to FOCUS" not in page.text
