"""Ledgers in the account: their charges are allocated like any other, in full, and stay separate from the bill."""

import csv
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from trainfare.books.from_files import build_from_files
from trainfare.money import amount
from trainfare.query.open_books import open_books
from trainfare.settings.config import load
from trainfare.tables import BASES, CATEGORIES, NOT_INFRASTRUCTURE

from .books import BILL, DAY, HOUR, JOBS, Account, Bookkeeper, charge, hours_of, placement, with_settings
from .test_properties import examples

AFTER = datetime(2026, 12, 1, tzinfo=UTC)
HARDWARE = "machine_id,price,salvage,currency,in_service,life_months,rated_kw,pue,tariff,space"
TARIFF = "tariff,price_per_kwh,currency"
LABOR = "day,person,role,hours,rate,currency,project,job_id,note"
LICENSES = "license,per,quantity,price,every,currency,started,ended,project"
INVOICES = "invoice,vendor,description,category,amount,currency,started,ended"


@dataclass
class Files:
    """A case with ledgers: rows of a bill and a job log, and ledgers as text."""

    charges: list = field(default_factory=list)
    placements: list = field(default_factory=list)
    ledgers: dict[str, str] = field(default_factory=dict)
    settings: str = ""

    def write(self, folder: Path) -> Path:
        for name, columns, rows in (("bill", BILL, self.charges), ("jobs", JOBS, self.placements)):
            with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as opened:
                writer = csv.DictWriter(opened, columns, restval="")
                writer.writeheader()
                writer.writerows(rows)
        for name, text in self.ledgers.items():
            (folder / f"{name}.csv").write_text(text, encoding="utf-8")
        given = ["jobs.csv", *(["bill.csv"] if self.charges else []), *(f"{name}.csv" for name in self.ledgers)]
        return with_settings(folder, given, self.settings)


def account(keeper: Bookkeeper, files: Files, as_of: datetime = AFTER) -> Account:
    folder = files.write(keeper.new_folder())
    books = build_from_files(load(folder / "trainfare.toml"), folder / "books", keeper.builder, as_of=as_of)
    return Account(open_books(keeper.reader, books), keeper.reader.records("SELECT * FROM shares"))


def owed(account: Account, **only: object) -> dict[str, Decimal]:
    """What each payer pays of the shares that have these values."""
    sums: dict[str, Decimal] = {}
    for share in account.shares:
        if all(share[name] == value for name, value in only.items()):
            payer = share["payer"].removesuffix("#1")
            sums[payer] = sums.get(payer, Decimal(0)) + share["effective"]
    return {payer: cost for payer, cost in sums.items() if cost}


def test_an_owned_machine_costs_its_holders_and_is_idle_otherwise(keeper: Bookkeeper):
    """3,100 over October's 31 days are 100 a day; power is 2 kW x 1.5 x 0.50 an hour; a third of the month is held."""
    files = Files(
        placements=[placement("a", "own-1", (0, 10 * DAY), gpus=8, project="x")],
        ledgers={
            "hardware": f"{HARDWARE}\nown-1,3600,500,USD,2026-10-01,1,2,1.5,flat,62\nown-2,3100,0,USD,2026-10-01,1,,,,\n",
            "tariffs": f"{TARIFF}\nflat,0.50,USD\n",
        },
    )
    made = account(keeper, files)
    assert owed(made, category="compute") == {"a": Decimal(1000), "__idle__": Decimal(2100 + 3100)}
    assert owed(made, category="power") == {"a": Decimal(360), "__idle__": Decimal(31 * 24) * Decimal("1.5") - 360}
    assert owed(made, category="facility") == {"a": Decimal(20), "__idle__": Decimal(42)}
    assert {share["origin"] for share in made.shares} == {"hardware"}
    row = made.rows("job")["a"]
    assert (row.cost, row.unbilled_wall_seconds, row.rate) == (Decimal(1380), 0, Decimal("5.75"))
    assert made.findings == {"MACHINE_WITHOUT_JOBS", "MACHINE_SIZE_UNKNOWN"}


def test_the_current_month_is_amortized_up_to_now(keeper: Bookkeeper):
    """At noon of the third day, two days and sixty hours of power are charged."""
    files = Files(
        placements=[placement("a", "own-1", (0, None), gpus=8, state="running")],
        ledgers={
            "hardware": f"{HARDWARE}\nown-1,3100,0,USD,2026-10-01,1,1,1,flat,\n",
            "tariffs": f"{TARIFF}\nflat,1,USD\n",
        },
    )
    made = account(keeper, files, datetime(2026, 10, 3, 12, tzinfo=UTC))
    assert owed(made, category="compute") == {"a": Decimal(200)}
    assert owed(made, category="power") == {"a": Decimal(60)}


def test_labor_goes_to_its_job_or_project_and_is_unallocated_otherwise(keeper: Bookkeeper):
    files = Files(
        charges=[hours_of("n1", (0, HOUR), "10")],
        placements=[
            placement("a", "n1", (0, HOUR), gpus=1, project="x"),
            placement("b", "n1", (HOUR, 2 * HOUR), gpus=1, project="y"),
        ],
        ledgers={
            "labor": f"{LABOR}\n2026-10-01,ann,,2,90.50,USD,x,,\n2026-10-20,bob,,1.5,60,USD,,b,debugging\n"
            "2026-10-20,,admin,4,50,USD,,,\n2026-10-21,ann,,1,90.50,USD,z,,\n"
        },
    )
    made = account(keeper, files)
    assert owed(made, category="labor") == {
        "a": Decimal(181),
        "b": Decimal(90),
        "__unallocated__": Decimal(200),
        "project:z": Decimal("90.5"),
    }
    (reason,) = {share["reason"] for share in made.shares if share["payer"] == "__unallocated__"}
    assert reason == "time entry without a job, project or team"
    assert made.report(scope="infra").total == made.report(scope="infra").bill == 10
    assert made.report().total == 10 + 181 + 90 + 200 + Decimal("90.5")


def test_tag_names_from_the_settings_apply_to_ledgers_too(keeper: Bookkeeper):
    files = Files(
        charges=[hours_of("n1", (0, HOUR), "10")],
        placements=[placement("a", "n1", (0, HOUR), gpus=1, project="x")],
        ledgers={"labor": f"{LABOR}\n2026-10-01,ann,,2,90.50,USD,x,,\n2026-10-01,ann,,1,90.50,USD,,a,\n"},
        settings='[labels]\nproject = ["Vorhaben", "project"]\njob = ["auftrag"]\n',
    )
    assert owed(account(keeper, files), category="labor") == {"a": Decimal("271.5")}


def test_a_license_without_a_project_is_shared_by_all_jobs_of_the_month(keeper: Bookkeeper):
    """31 days of a year of 365 x 31 units a day; one job ran in the first hour and the other ten days later."""
    files = Files(
        charges=[hours_of("n1", (0, HOUR), "10")],
        placements=[
            placement("a", "n1", (0, HOUR), gpus=1, cpus=9, project="x"),
            placement("b", "n1", (10 * DAY, 10 * DAY + HOUR), gpus=3, cpus=1, project="y"),
        ],
        ledgers={
            "licenses": f"{LICENSES}\nprofiler,gpu,2,182.5,year,USD,2026-01-01,2027-01-01,\n"
            "solver,core,1,310,month,USD,2026-10-01,2026-11-01,\neditor,seat,5,6.2,month,USD,2026-10-01,2026-11-01,y\n"
        },
    )
    made = account(keeper, files)
    assert owed(made, rule="license") == {"a": Decimal("7.75"), "b": Decimal("23.25")}
    assert owed(made, rule="license per core") == {"a": Decimal(279), "b": Decimal(31)}
    assert owed(made, rule="tagged project") == {"b": Decimal(31)}
    assert owed(made, category="license") == {"a": Decimal("286.75"), "b": Decimal("85.25")}


def test_an_invoice_is_spread_over_its_service_period(keeper: Bookkeeper):
    """A year's support of 365 is 31 in October, split by spend across all accounts, including idle."""
    files = Files(
        charges=[
            hours_of("n1", (0, 2 * HOUR), "20"),
            charge((0, DAY), "11", BillingAccountId="B-2", ServiceCategory="Web"),
        ],
        placements=[placement("a", "n1", (0, HOUR), gpus=1)],
        ledgers={
            "invoices": f"{INVOICES}\nR-1,ACME,support,support,365,USD,2026-01-01,2027-01-01\n"
            "R-2,ACME,credit,other,-31,USD,2026-10-01,2026-11-01\n",
            "machines": "machine_id,gpus\nn1,1\n",
        },
    )
    made = account(keeper, files)
    assert owed(made, category="support") == {"a": Decimal(10), "__idle__": Decimal(10), "__outside__": Decimal(11)}
    assert owed(made, category="other", origin="invoice") == {"__unallocated__": Decimal(-31)}


def test_ledgers_do_not_create_books_for_months_without_other_records(keeper: Bookkeeper):
    files = Files(
        charges=[hours_of("n1", (0, HOUR), "10")],
        placements=[placement("a", "n1", (0, HOUR), gpus=1)],
        ledgers={"hardware": f"{HARDWARE}\nown-1,3100,0,USD,2025-10-01,60,,,,\n"},
    )
    assert [str(book.month) for book in account(keeper, files).opened.books] == ["2026-10"]


CENTS = st.integers(1, 10**14).map(amount)


@examples(6)
@given(
    prices=st.lists(CENTS, min_size=1, max_size=3),
    wages=st.lists(st.tuples(st.integers(1, 31), CENTS, st.sampled_from(["x", "y", ""])), max_size=6),
    fees=st.lists(st.tuples(CENTS, st.sampled_from(["month", "year", "term"])), max_size=3),
    lines=st.lists(st.tuples(CENTS, st.sampled_from(CATEGORIES)), max_size=4),
    bill=CENTS,
)
def test_infrastructure_labor_and_licenses_add_up_to_the_full_cost(
    keeper: Bookkeeper, prices, wages, fees, lines, bill
):
    """Each category adds up to its ledger, the categories to the full scope, and all but two of them to infra."""
    owned = [f"own-{n},{price},0,USD,2026-09-17,13,,,,3.1\n" for n, price in enumerate(prices)]
    worked = [f"2026-10-{day:02},ann,,1,{rate},USD,{project},,\n" for day, rate, project in wages]
    held = [f"tool-{n},flat,,{price},{every},USD,2026-10-05,2027-01-20,\n" for n, (price, every) in enumerate(fees)]
    billed = [f"R-{n},ACME,,{name},{cost},USD,2026-10-01,2026-11-01\n" for n, (cost, name) in enumerate(lines)]
    made = account(
        keeper,
        Files(
            charges=[hours_of("n1", (0, HOUR), bill)],
            placements=[placement("a", "own-0", (5 * HOUR, 9 * DAY), gpus=1, project="x")],
            ledgers={
                "hardware": "".join([f"{HARDWARE}\n", *owned]),
                "labor": "".join([f"{LABOR}\n", *worked]),
                "licenses": "".join([f"{LICENSES}\n", *held]),
                "invoices": "".join([f"{INVOICES}\n", *billed]),
            },
        ),
    )
    by_category = {name: sum(owed(made, category=name).values(), Decimal(0)) for name in CATEGORIES}
    invoiced = sum((cost for cost, name in lines if name == "labor"), Decimal(0))
    assert by_category["labor"] == sum((rate for _, rate, _ in wages), invoiced)
    for basis in BASES:
        full, infra = (made.report(basis=basis, scope=scope) for scope in ("full", "infra"))
        assert full.total == full.bill == sum(by_category.values())
        assert infra.total == infra.bill
        assert infra.total + sum(by_category[name] for name in NOT_INFRASTRUCTURE) == full.total


def test_a_job_that_ends_with_the_month_makes_no_book_of_the_next(keeper: Bookkeeper):
    """The end is exclusive. One second later, there is a book of November."""
    hardware = f"{HARDWARE}\nown-1,3600,0,USD,2026-10-01,12,,,,\n"
    for seconds, months in ((0, ["2026-10"]), (1, ["2026-10", "2026-11"])):
        held = [placement("a", "own-1", (30 * DAY, 31 * DAY + seconds), gpus=8)]
        made = account(keeper, Files(placements=held, ledgers={"hardware": hardware}))
        assert [str(book.month) for book in made.opened.books] == months
