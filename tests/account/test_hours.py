"""Hours and rates of the report: cost over hours, divided last, and null where there are no hours."""

from decimal import Decimal

import pytest
from click.testing import CliRunner

from trainfare.cli.main import cli
from trainfare.errors import IncompleteError, TrainfareError
from trainfare.query.cost import Question
from trainfare.query.job import attempts, rates

from .books import DAY, HOUR, Bookkeeper, Case, charge, hours_of, placement, stamp
from .story import account_of, case_of

UNEQUAL = """
machine  n1  4 gpus  4 h  8.00 USD
attempt  a   4 gpus  3 h  team nlp
machine  n2  8 gpus  1 h  10.00 USD
attempt  b   8 gpus  1 h  team nlp
"""
"""a trains 3 hours for 6.00, b one hour for 10.00."""


def test_a_groups_rate_is_not_the_mean_of_its_members(keeper: Bookkeeper):
    account = account_of(keeper, UNEQUAL)
    jobs = account.rows("job")
    assert (jobs["a"].rate, jobs["b"].rate) == (Decimal(2), Decimal(10))
    (team,) = account.report(["team"]).rows
    assert (team.cost, team.wall_seconds, team.rate) == (Decimal(16), 4 * HOUR, Decimal(4))
    assert team.rate != (jobs["a"].rate + jobs["b"].rate) / 2


def test_a_rate_per_gpu_hour_divides_by_gpu_hours(keeper: Bookkeeper):
    account = account_of(keeper, UNEQUAL)
    (team,) = account.report(["team"], per="gpu").rows
    assert (team.gpu_seconds, team.rate) == (Decimal(20 * HOUR), Decimal("0.8"))


def test_wall_hours_are_the_union_and_gpu_hours_the_sum(keeper: Bookkeeper):
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  6 h  6.00 USD
        attempt  a   4 gpus  4 h  from 0 h
        machine  n2  2 gpus  6 h  6.00 USD
        attempt  a   2 gpus  4 h  from 2 h
        """,
    )
    (job,) = account.report(["job"]).rows
    assert (job.wall_seconds, job.gpu_seconds) == (6 * HOUR, Decimal(24 * HOUR))
    assert {row.group["machine"]: row.wall_seconds for row in account.report(["machine"]).rows} == {
        "n1": 4 * HOUR,
        "n2": 4 * HOUR,
    }


def test_wall_hours_of_two_jobs_add_up_even_at_the_same_time(keeper: Bookkeeper):
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  4 h  8.00 USD
        attempt  a   2 gpus  4 h  from 0 h
        attempt  b   2 gpus  4 h  from 0 h
        """,
    )
    assert account.report().overall.wall_seconds == 8 * HOUR


def test_a_job_that_is_not_on_the_bill_has_hours_and_no_cost(keeper: Bookkeeper):
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  4 h  8.00 USD
        attempt  a   4 gpus  4 h
        attempt  b   2 gpus  3 h  on n9
        """,
    )
    unbilled = account.rows("job")["b"]
    assert unbilled.cost is None
    assert unbilled.rate is None
    assert (unbilled.wall_seconds, unbilled.unbilled_wall_seconds) == (3 * HOUR, 3 * HOUR)
    assert unbilled.unbilled_gpu_seconds == Decimal(6 * HOUR)
    assert account.report().overall.rate == Decimal(2), "hours without a price are not divided by"
    assert account.findings == {"JOB_WITHOUT_MACHINE"}


def test_unbilled_hours_stay_unbilled_day_by_day(keeper: Bookkeeper):
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  48 h  8.00 USD
        attempt  a   4 gpus  48 h
        attempt  b   2 gpus  2 h  on n9  from 23 h
        """,
    )
    days = [row for row in account.report(["job", "day"]).rows if row.group["job"] == "b"]
    assert [(row.wall_seconds, row.unbilled_wall_seconds) for row in days] == [(HOUR, HOUR), (HOUR, HOUR)]


def test_hours_before_and_after_the_bill_are_unbilled(keeper: Bookkeeper):
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  2 h  8.00 USD  from 2 h
        attempt  a   4 gpus  10 h  from 0 h
        """,
    )
    (job,) = account.report(["job"]).rows
    assert (job.wall_seconds, job.unbilled_gpu_seconds) == (10 * HOUR, 4 * 8 * HOUR)
    assert (job.rate, job.at_least, job.billed_part) == (None, Decimal("0.8"), Decimal("0.2"))
    assert account.report(["job"], per="gpu").rows[0].rate == 1


def test_a_job_that_still_runs_has_hours_up_to_the_end_of_the_bill(keeper: Bookkeeper):
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  4 h  8.00 USD
        attempt  a   4 gpus  running  from 1 h
        """,
    )
    (job,) = account.report(["job"]).rows
    assert (job.cost, job.wall_seconds, job.unbilled_gpu_seconds) == (Decimal(6), 3 * HOUR, 0)
    assert (job.rate, job.at_least) == (None, 2), "the day is not over"
    assert account.report(["job"], per="gpu").rows[0].rate == Decimal("0.5")


def test_a_group_with_cost_but_no_hours_has_no_rate(keeper: Bookkeeper):
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  4 h  8.00 USD
        attempt  a   4 gpus  4 h
        charge   storage  3.00 USD  tag team=nlp
        """,
    )
    row = account.rows("team")["nlp"]
    assert (row.cost, row.wall_seconds, row.rate, row.jobs) == (Decimal(3), 0, None, 0)


def test_a_machine_written_in_another_case_is_one_machine(keeper: Bookkeeper):
    account = account_of(
        keeper,
        """
        machine  N1  4 gpus  4 h  8.00 USD
        attempt  a   4 gpus  4 h  on n1
        """,
    )
    (row,) = account.report(["machine"]).rows
    assert (row.cost, row.wall_seconds, row.rate) == (Decimal(8), 4 * HOUR, Decimal(2))


def test_cost_shared_within_a_cluster_belongs_to_none_of_its_machines(keeper: Bookkeeper):
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  4 h  8.00 USD  cluster c1
        attempt  a   4 gpus  4 h
        machine  n2  4 gpus  4 h  8.00 USD  cluster c1
        attempt  b   4 gpus  4 h
        rules
        [[rule]]
        name = "cluster"
        match = { machine = true }
        among = "cluster"
        """,
    )
    assert {share["machine_id"] for share in account.shares} == {None}


@pytest.mark.parametrize("step", [1, -1], ids=["as billed", "reversed"])
def test_cost_tagged_with_a_job_belongs_to_none_of_its_machines(keeper: Bookkeeper, step: int):
    lines = [hours_of(name, (0, HOUR), "1.00", Tags='{"job_id": "a"}') for name in ("n1", "n2")]
    held = [placement("a", name, (0, HOUR), gpus=1) for name in ("n1", "n2")]
    account = keeper.book(Case(lines[::step], held, [{"machine_id": name, "gpus": 1} for name in ("n1", "n2")]))
    assert [(share["payer"], share["machine_id"], share["effective"]) for share in account.shares] == [("a#1", None, 2)]


def test_a_machine_name_is_resolved_to_the_resource_that_existed_then(keeper: Bookkeeper):
    account = keeper.book(
        Case(
            [hours_of("i-1", (0, 4 * HOUR), "4.00"), hours_of("i-2", (4 * HOUR, 8 * HOUR), "8.00")],
            [placement("a", "n1", (2 * HOUR, 6 * HOUR), gpus=1)],
            [
                {
                    "machine_id": "n1",
                    "resource_id": "i-1",
                    "gpus": 1,
                    "existed_from": stamp(0),
                    "existed_to": stamp(4 * HOUR),
                },
                {
                    "machine_id": "n1",
                    "resource_id": "i-2",
                    "gpus": 1,
                    "existed_from": stamp(4 * HOUR),
                    "existed_to": "",
                },
            ],
        )
    )
    assert account.owed() == {"a": Decimal(6), "__idle__": Decimal(6)}
    (job,) = account.report(["job"]).rows
    assert (job.wall_seconds, job.unbilled_wall_seconds, job.gpu_seconds) == (4 * HOUR, 0, Decimal(4 * HOUR))


@pytest.mark.parametrize("step", [1, -1], ids=["as billed", "reversed"])
def test_a_machines_size_is_found_in_whichever_line_names_its_type(keeper: Bookkeeper, step: int):
    """Lines of one instance differ in their description; the order of the bill's lines does not matter."""
    lines = [
        hours_of("i-1", (0, HOUR), "1.00", ChargeDescription="data processed, per GB"),
        hours_of("i-1", (0, HOUR), "7.00", ChargeDescription="On Demand p4d.24xlarge hour"),
    ]
    account = keeper.book(Case(lines[::step], [placement("a", "i-1", (0, HOUR), gpus=4)]))
    assert account.owed() == {"a": Decimal(4), "__idle__": Decimal(4)}


def test_a_bill_without_list_cost_is_reported(keeper: Bookkeeper):
    costs = {"effective": "8.00", "billed": "8.00", "contracted": "8.00"}
    account = keeper.book(Case([charge((0, DAY), costs, ServiceCategory="Storage")]))
    assert account.findings == {"COST_MISSING"}
    assert account.report(basis="list").total == 0


def test_a_cost_that_no_line_has_is_unknown_and_not_zero(keeper: Bookkeeper):
    costs = {"effective": "8.00", "billed": "8.00", "contracted": "8.00"}
    lines = [hours_of("n1", (0, 4 * HOUR), costs)]
    folder = keeper.write(Case(lines, [placement("a", "n1", (0, 4 * HOUR))]))
    files = [str(folder / "bill.csv"), "--jobs", str(folder / "jobs.csv")]
    with pytest.raises(IncompleteError) as rejected:
        CliRunner().invoke(cli, ["report", *files, "--basis", "list"], catch_exceptions=False)
    assert str(rejected.value) == "basis: the bill has no list cost\n  Choose another: effective, billed, contracted."
    opened = keeper.account(folder).opened
    by_basis = {
        row["basis"]: (row["cost"], row["wall"]) for row in rates(opened, Question([], filters=(("job", ("a",)),)))
    }
    assert by_basis == {basis: (Decimal(8), Decimal(2)) for basis in costs} | {"list": (None, None)}


def test_a_month_covered_by_commitments_is_billed_at_zero(keeper: Bookkeeper):
    """BilledCost is on every line, so 0 is what was billed."""
    costs = {"effective": "8.00", "billed": "0", "list": "9.00", "contracted": "9.00"}
    opened = keeper.book(Case([charge((0, DAY), costs, ServiceCategory="Storage")])).opened
    assert opened.known_bases("USD") == ["effective", "billed", "list", "contracted"]
    assert opened.currency(None, basis="billed") == "USD"


def test_a_free_bill_has_every_cost_basis(keeper: Bookkeeper):
    """Free of charge means 0 on every cost basis."""
    opened = keeper.book(Case([charge((0, DAY), "0", ServiceCategory="Storage")])).opened
    assert opened.known_bases("USD") == ["effective", "billed", "list", "contracted"]


def test_a_report_in_two_currencies_is_rejected_until_one_is_chosen(keeper: Bookkeeper):
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  4 h  8.00 USD
        machine  n2  4 gpus  4 h  4.00 EUR
        """,
    )
    with pytest.raises(TrainfareError, match="EUR and USD, which are never added together"):
        account.opened.currency(None)
    assert account.opened.currency("EUR") == "EUR"
    assert account.report(currency="EUR").total == Decimal(4)


def test_two_files_in_cost_per_hour_out(keeper: Bookkeeper):
    folder = keeper.write(case_of(UNEQUAL))
    files = [str(folder / "bill.csv"), "--jobs", str(folder / "jobs.csv"), "--machines", str(folder / "machines.csv")]
    answer = CliRunner().invoke(cli, ["report", *files, "--by", "team", "--format", "csv"], catch_exceptions=False)
    assert answer.exit_code == 0
    assert answer.stdout.splitlines()[1:3] == [
        "jobs,nlp,16.00,4.00,20.00,4.00,6.00,10.00,2,0.00,16.00,,,USD",
        "__idle__,,2.00,,,,,,,0.00,,,,USD",
    ]


def test_hours_paid_in_another_currency_do_not_count_in_this_one(keeper: Bookkeeper):
    """a trains two hours for 8.00 USD and b six hours for 3.00 EUR, both for one team."""
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  2 h  8.00 USD
        attempt  a   4 gpus  2 h  team nlp
        machine  n2  4 gpus  6 h  3.00 EUR
        attempt  b   4 gpus  6 h  team nlp
        """,
    )
    rates = {}
    for currency in ("USD", "EUR"):
        (team,) = account.report(["team"], currency=currency).rows
        assert team.wall_seconds == 8 * HOUR
        rates[currency] = team.rate, team.unbilled_wall_seconds // HOUR
    assert rates == {"USD": (Decimal(4), 6), "EUR": (Decimal("0.5"), 2)}


def test_an_attempt_paid_in_two_currencies_has_separate_hours_in_each(keeper: Bookkeeper):
    """One attempt holds four GPUs for two hours at 8.00 USD, and four others for six hours at 12.00 EUR."""
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  2 h  8.00 USD
        attempt  a   4 gpus  2 h
        machine  n2  4 gpus  6 h  12.00 EUR
        attempt  a   4 gpus  6 h
        """,
    )
    by_currency = {}
    for currency in ("USD", "EUR"):
        (attempt,) = attempts(account.opened, Question([], currency=currency, filters=(("job", ("a",)),)))
        by_currency[currency] = attempt["cost"], attempt["rate"]
    assert by_currency == {"USD": (Decimal(8), Decimal(1)), "EUR": (Decimal(12), Decimal("0.5"))}


def test_cost_shared_within_a_cluster_makes_hours_billed_in_its_currency(keeper: Bookkeeper):
    account = account_of(
        keeper,
        """
        machine  n1  4 gpus  cluster c1
        attempt  a   4 gpus  2 h
        charge   server  8.00 USD  2 h  tag cluster=c1
        charge   server  3.00 EUR  2 h  on web-2
        rules
        [[rule]]
        name = "cluster"
        match = { tag = { cluster = true } }
        among = "cluster"
        """,
    )
    assert account.rows("job")["a"].rate == Decimal(4)
