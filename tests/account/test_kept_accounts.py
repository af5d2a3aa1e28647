"""A kept account explains what the account run again explains, digit for digit, of small and of large money."""

import pytest

from trainfare import pipeline, reopened
from trainfare.attribute import lineage
from trainfare.config import load
from trainfare.engine.duckdb import DuckDB
from trainfare.store import Book, Store
from trainfare.tables import BASES

from .books import DAY, HOUR, Bookkeeper, Case, Row, charge, hours_of, placement

BY_SPEND = """
[[rule]]
name = "tax"
match = { category = "tax" }
among = "all"
by = "spend"
"""
OUTSIDE = '[[rule]]\nname = "tax"\nmatch = { category = "tax" }\nto = "__outside__"\n'
SMALL, LARGE = 1, 10**9


def bill(scale: int) -> list[Row]:
    """Two lines an hour of two machines, the first of them a credit, and a tax."""
    lines = [
        hours_of(
            f"m{machine}", (hour * HOUR, (hour + 1) * HOUR), f"{sign * scale * (7 * hour + machine + 1)}.{hour:012}"
        )
        for machine in range(2)
        for hour in range(30)
        for sign in (-1, 3)
    ]
    return [*lines, charge((0, DAY), f"{scale * 11}.01", ChargeCategory="Tax")]


JOBS = [
    placement("a", "m0", (0, 5 * HOUR + 17), gpus=3),
    placement("a", "m0", (9 * HOUR, 26 * HOUR), gpus=5, attempt=2),
    placement("a", "m1", (20 * HOUR + 1, 29 * HOUR), gpus=8, attempt=2),
    placement("b", "m0", (2 * HOUR, 28 * HOUR), gpus=2),
]
MACHINES = [{"machine_id": f"m{number}", "gpus": 8} for number in range(2)]


@pytest.mark.parametrize("rule", [BY_SPEND, OUTSIDE])
@pytest.mark.parametrize("scale", [SMALL, LARGE])
def test_a_kept_account_explains_what_the_account_does(keeper: Bookkeeper, scale: int, rule: str) -> None:
    folder = keeper.write(Case(bill(scale), JOBS, MACHINES, rule))
    with Store.open(folder) as store:
        (built,) = pipeline.build(load(folder / "trainfare.toml"), store)
        reopened.keep_account(store, built.book, folder / "account.duckdb")
        engine = DuckDB()
        engine.run(f"ATTACH '{folder / 'account.duckdb'}' AS kept (READ_ONLY)")
        account = lineage.attached(engine, "kept")
        assert account == lineage.Account("kept", is_small=scale == SMALL, has_spend=rule == BY_SPEND)
        for job, attempts in (("a", [1, 2]), ("b", [1])):
            for basis in BASES:
                again = explained(store, built.book, job, basis)
                with_it = engine.another()
                kept = reopened.explain_kept(with_it, account, job, attempts, basis, "USD", again.stored)
                assert kept == again
                assert kept.opened == kept.stored != 0
        engine.close()


def explained(store: Store, book: Book, job: str, basis: str) -> reopened.Explanation:
    engine = DuckDB()
    try:
        return reopened.explain(store, book, engine, job, basis, None)
    finally:
        engine.close()


@pytest.mark.parametrize("scale", [SMALL, LARGE])
def test_the_payers_of_a_kept_line_pay_all_of_it(keeper: Bookkeeper, scale: int) -> None:
    folder = keeper.write(Case(bill(scale), JOBS, MACHINES, BY_SPEND))
    with Store.open(folder) as store:
        (built,) = pipeline.build(load(folder / "trainfare.toml"), store)
        kept = folder / "account.duckdb"
        reopened.keep_account(store, built.book, kept)
    engine = DuckDB()
    engine.run(f"ATTACH '{kept}' AS kept (READ_ONLY)")
    account = lineage.attached(engine, "kept")
    (bill_file,) = {number for (number,) in engine.rows("SELECT DISTINCT delivery FROM kept.keyed_charges")}
    seen = set()
    for line in (1, 2, 33, 61, 120, 121):
        found = reopened.payers_of_kept_line(engine.another(), account, bill_file, line)
        assert found is not None
        for basis in BASES:
            assert sum(payer[basis] for payer in found.payers) == found.parts[basis] == found.line[basis]
        seen |= {payer["payer"] for payer in found.payers}
    assert {"a#1", "b#1", "__idle__"} <= seen
    engine.close()
