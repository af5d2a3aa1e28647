"""A stored account explains the same as the recomputed account, digit for digit, for small and large amounts."""

import pytest

from trainfare.allocate import lineage
from trainfare.books import reopen
from trainfare.books.build import build_books
from trainfare.engine.duckdb import DuckDB
from trainfare.settings.config import load
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
    """Return two lines an hour for two machines, the first of them a credit, and a tax."""
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
def test_a_stored_account_explains_the_same_as_a_recomputed_one(keeper: Bookkeeper, scale: int, rule: str) -> None:
    folder = keeper.write(Case(bill(scale), JOBS, MACHINES, rule))
    with Store.open(folder) as store:
        (built,) = build_books(load(folder / "trainfare.toml"), store)
        reopen.store_account(store, built.book, folder / "account.duckdb")
        engine = DuckDB()
        engine.run(f"ATTACH '{folder / 'account.duckdb'}' AS stored (READ_ONLY)")
        account = lineage.attached(engine, "stored")
        assert account == lineage.Account("stored", fits_64_bits=scale == SMALL, has_spend=rule == BY_SPEND)
        for job, attempts in (("a", [1, 2]), ("b", [1])):
            for basis in BASES:
                again = explained(store, built.book, job, basis)
                connection = engine.new_connection()
                stored = reopen.explain_stored(
                    connection, account, reopen.ExplainedJob(job, attempts), basis, "USD", again.stored
                )
                assert stored == again
                assert stored.explained == stored.stored != 0
        engine.close()


def explained(store: Store, book: Book, job: str, basis: str) -> reopen.Explanation:
    engine = DuckDB()
    try:
        return reopen.explain(store, book, engine, job, basis, None)
    finally:
        engine.close()


@pytest.mark.parametrize("scale", [SMALL, LARGE])
def test_the_payers_of_a_stored_line_pay_all_of_it(keeper: Bookkeeper, scale: int) -> None:
    folder = keeper.write(Case(bill(scale), JOBS, MACHINES, BY_SPEND))
    with Store.open(folder) as store:
        (built,) = build_books(load(folder / "trainfare.toml"), store)
        path = folder / "account.duckdb"
        reopen.store_account(store, built.book, path)
    engine = DuckDB()
    engine.run(f"ATTACH '{path}' AS stored (READ_ONLY)")
    account = lineage.attached(engine, "stored")
    (bill_file,) = {number for (number,) in engine.rows("SELECT DISTINCT delivery FROM stored.keyed_charges")}
    seen = set()
    for line in (1, 2, 33, 61, 120, 121):
        found = reopen.payers_of_stored_line(engine.new_connection(), account, bill_file, line)
        assert found is not None
        for basis in BASES:
            assert sum(payer[basis] for payer in found.payers) == found.parts[basis] == found.line[basis]
        seen |= {payer["payer"] for payer in found.payers}
    assert {"a#1", "b#1", "__idle__"} <= seen
    engine.close()
