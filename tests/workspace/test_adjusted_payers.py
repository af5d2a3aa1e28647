"""An adjustment goes to the payers of the closed month, under its rules, and never to those of the open one."""

from decimal import Decimal

import pytest

from trainfare.engine.choice import embedded
from trainfare.period import Month
from trainfare.query.open_books import select_of

from .folder import Workspace

SEPTEMBER, OCTOBER, NOVEMBER = Month(2026, 9), Month(2026, 10), Month(2026, 11)
SETTINGS = """[[source]]
name = "cloud"
path = "bills/*.csv"

[[source]]
path = "jobs/*.csv"
"""
OUTSIDE = '\n[[rule]]\nname = "all outside"\nmatch = { machine = true }\nto = "__outside__"\n'
BILL = (
    "BillingCurrency,ChargePeriodStart,ChargePeriodEnd,BillingPeriodStart,BillingPeriodEnd,EffectiveCost,BilledCost,"
    "ChargeCategory,ServiceCategory,ServiceName,ResourceId,SkuPriceDetails"
)
P5 = '"{""InstanceType"": ""p5.48xlarge""}"'


@pytest.fixture
def small(tmp_path) -> Workspace:
    """September: n1 for 4 hours at 3.00, all held by job a; October: n1 for 4 hours at 3.00, all held by job o."""
    workspace = Workspace(tmp_path)
    workspace.write("trainfare.toml", SETTINGS)
    bill(workspace, SEPTEMBER, "3.00")
    bill(workspace, OCTOBER, "3.00")
    job(workspace, SEPTEMBER, "a")
    job(workspace, OCTOBER, "o")
    workspace.build()
    return workspace


def bill(workspace: Workspace, month: Month, price: str, tax: str = "") -> None:
    period = f"{month}-01T00:00:00Z,{month.next()}-01T00:00:00Z"
    rows = [
        f"USD,{month}-01T0{hour}:00:00Z,{month}-01T0{hour + 1}:00:00Z,{period},{price},{price},Usage,Compute,VM,n1,{P5}"
        for hour in range(4)
    ]
    if tax:
        rows.append(f"USD,{period},{period},{tax},{tax},Tax,Other,Tax,,")
    workspace.write(f"bills/{month}.csv", "\n".join([BILL, *rows, ""]))


def job(workspace: Workspace, month: Month, name: str) -> None:
    row = f"{name},1,n1,{month}-01T00:00:00Z,{month}-01T04:00:00Z,8,completed,team-{name}"
    workspace.write(f"jobs/{month}.csv", f"job_id,attempt,machine_id,started,ended,gpus,state,team\n{row}\n")


def paid(workspace: Workspace, month: Month, adjusting: bool | None = None) -> dict[str, Decimal]:
    """What each payer pays in a book, with or without adjustments, or only these."""
    with workspace.open() as store, embedded() as engine:
        select = select_of(store.files(store.catalog.latest(month)), "shares")
        where = {None: "true", True: "source LIKE '% adjusting %'", False: "source NOT LIKE '% adjusting %'"}[adjusting]
        rows = engine.rows(f"SELECT payer, sum(effective) FROM ({select}) WHERE {where} GROUP BY payer")
    return {payer: amount for payer, amount in rows if amount}


def findings(workspace: Workspace, month: Month) -> dict[str, tuple[Decimal, str]]:
    with workspace.open() as store, embedded() as engine:
        select = select_of(store.files(store.catalog.latest(month)), "findings")
        rows = engine.rows(f"SELECT code, at_stake, evidence FROM ({select}) WHERE code = 'CLOSED_MONTH_CHANGED'")
    return {code: (amount, evidence) for code, amount, evidence in rows}


def test_a_restated_month_is_adjusted_under_the_rules_of_its_closing(small: Workspace) -> None:
    """September is restated to 1.00 an hour, and a new rule sends machines outside: a gets 8.00 back in October."""
    small.close(SEPTEMBER)
    bill(small, SEPTEMBER, "1.00")
    small.write("trainfare.toml", SETTINGS + OUTSIDE)
    small.build()
    assert paid(small, SEPTEMBER) == {"a#1": Decimal(12)}
    assert paid(small, OCTOBER, adjusting=True) == {"a#1": Decimal(-8)}
    assert paid(small, OCTOBER, adjusting=False) == {"__outside__": Decimal(12)}
    small.require_sound()


def test_a_job_renamed_in_the_log_of_a_restated_month_pays_under_its_new_name(small: Workspace) -> None:
    small.close(SEPTEMBER)
    bill(small, SEPTEMBER, "1.00")
    job(small, SEPTEMBER, "z")
    small.build()
    assert paid(small, OCTOBER) == {"a#1": Decimal(-12), "z#1": Decimal(4), "o#1": Decimal(12)}
    for name, amount in (("a", "-12.00"), ("z", "4.00"), ("o", "12.00")):
        ran = small.run("explain", name, "--month", OCTOBER)
        assert f"Sum of the parts: {amount} USD. Published: {amount}." in ran.out, ran.out + ran.err


def test_the_tax_of_a_restated_month_follows_the_spend_of_that_month(small: Workspace) -> None:
    """One more dollar of September's tax is paid by those who spent in September; October's tax by October's."""
    bill(small, SEPTEMBER, "3.00", tax="5.00")
    bill(small, OCTOBER, "3.00", tax="2.00")
    small.build()
    small.close(SEPTEMBER)
    bill(small, SEPTEMBER, "3.00", tax="6.00")
    small.build()
    assert paid(small, OCTOBER) == {"a#1": Decimal(1), "o#1": Decimal(14)}
    ran = small.run("explain", "a", "--month", OCTOBER)
    assert "Sum of the parts: 1.00 USD. Published: 1.00." in ran.out, ran.out + ran.err


def test_a_changed_job_log_alone_books_nothing_and_a_finding_states_the_amount(small: Workspace) -> None:
    small.close(SEPTEMBER)
    job(small, SEPTEMBER, "z")
    small.build()
    assert paid(small, OCTOBER) == {"o#1": Decimal(12)}
    assert findings(small, OCTOBER) == {"CLOSED_MONTH_CHANGED": (Decimal(12), '["2026-09: job log"]')}
    job(small, SEPTEMBER, "a")
    small.build()
    assert findings(small, OCTOBER) == {}


def test_a_changed_rule_alone_books_nothing_and_a_finding_states_the_amount(small: Workspace) -> None:
    small.close(SEPTEMBER)
    small.write("trainfare.toml", SETTINGS + OUTSIDE)
    small.build()
    assert paid(small, OCTOBER) == {"__outside__": Decimal(12)}
    assert findings(small, OCTOBER) == {"CLOSED_MONTH_CHANGED": (Decimal(12), '["2026-09: rules"]')}


def test_a_rule_that_moves_nothing_in_the_closed_month_is_no_finding(small: Workspace) -> None:
    small.close(SEPTEMBER)
    rule = '\n[[rule]]\nname = "support outside"\nmatch = { category = "support" }\nto = "__outside__"\n'
    small.write("trainfare.toml", SETTINGS + rule)
    small.build()
    assert findings(small, OCTOBER) == {}


def test_a_job_keeps_the_labels_of_the_closing(small: Workspace) -> None:
    """The log gives job a to another team after September was closed; its refund goes to the team that paid."""
    small.close(SEPTEMBER)
    bill(small, SEPTEMBER, "1.00")
    text = (small.folder / "jobs/2026-09.csv").read_text().replace("team-a", "team-b")
    small.write("jobs/2026-09.csv", text)
    small.build()
    with small.open() as store, embedded() as engine:
        select = select_of(store.files(store.catalog.latest(OCTOBER)), "book_attempts")
        assert engine.rows(f"SELECT team FROM ({select}) WHERE job_id = 'a'") == [("team-a",)]


def test_a_log_that_was_removed_moves_nothing(small: Workspace) -> None:
    """September's log is gone when its bill is restated: the booked log still says who held the machine."""
    small.close(SEPTEMBER)
    bill(small, SEPTEMBER, "1.00")
    (small.folder / "jobs/2026-09.csv").unlink()
    small.build()
    assert paid(small, OCTOBER) == {"a#1": Decimal(-8), "o#1": Decimal(12)}
    assert findings(small, OCTOBER) == {}


def test_a_focus_export_of_an_adjusted_month_adds_up(small: Workspace) -> None:
    small.close(SEPTEMBER)
    bill(small, SEPTEMBER, "1.00", tax="2.00")
    job(small, SEPTEMBER, "z")
    small.build()
    path = small.folder / "out.csv"
    assert small.run("export", path, "--focus", "--month", OCTOBER).code == 0
    with embedded() as engine:
        rows = engine.rows(f"SELECT sum(CAST(EffectiveCost AS DECIMAL(38,12))) FROM read_csv('{path}')")
    assert rows == [(Decimal(12 - 12 + 4 + 2),)]
