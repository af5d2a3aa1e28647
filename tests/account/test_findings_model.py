"""The money of every failure mode equals that of a model in plain Python, for hundreds of random companies."""

import secrets
from collections import Counter
from random import Random

import pytest

from trainfare.books.from_files import Selection, build_from_files
from trainfare.engine import sql
from trainfare.money import UNITS
from trainfare.period import Month
from trainfare.query.open_books import open_books
from trainfare.settings.config import load

from . import findings_model
from .books import Bookkeeper
from .findings_records import Stakes
from .findings_worlds import companies, write

BATCHES, COMPANIES = 8, 40
CODES = {"F1-OWNERS", *(f"F{number}" for number in range(1, 11))}


def found_in(keeper: Bookkeeper, seed: str, count: int) -> tuple[Stakes, Stakes]:
    """Return what the product and the model find for the companies of a seed."""
    records = companies(Random(seed), count)
    folder = write(records, keeper.new_folder())
    selection = Selection(month=Month(2026, 10))
    books = build_from_files(load(folder / "trainfare.toml"), folder / "books", keeper.builder, selection)
    engine = open_books(keeper.reader, books).engine
    rows = engine.rows("SELECT code, currency, at_stake FROM failure_modes WHERE at_stake <> 0 OR at_stake IS NULL")
    rows += engine.rows("SELECT code, currency, at_stake FROM findings WHERE code = 'LISTED_NOT_BILLED'")
    listed: dict[tuple[str, str], int] = {}
    for currency, units in findings_model.only_listed(records):
        listed["LISTED_NOT_BILLED", currency] = listed.get(("LISTED_NOT_BILLED", currency), 0) + units
    found = {(code, currency): int(amount * UNITS) for code, currency, amount in rows}
    return found, {**findings_model.stakes(records), **listed}


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_failure_mode_has_the_models_money(keeper: Bookkeeper, batch: int) -> None:
    seed = f"{secrets.randbits(32)}-{batch}"
    print(f"seed {seed}")
    found, expected = found_in(keeper, seed, COMPANIES)
    different = {key: (found.get(key), expected.get(key)) for key in found.keys() | expected.keys()}
    assert {key: both for key, both in sorted(different.items()) if both[0] != both[1]} == {}, f"seed {seed}"
    assert {code for code, _ in expected} >= CODES, "every failure mode occurs"
    assert max(Counter(code for code, _ in expected if code in CODES).values()) < COMPANIES, "each has near misses"


MISTAKES = {
    "preemption on any machine": ("F2", "spot_machines", "lower(c.pricing_category) = 'dynamic'", "true"),
    "the next attempt's own failure": (
        "F2",
        "spot_churn",
        "w.phase = 'restart' AND c.follows_preemption",
        "w.phase IN ('unsaved', 'restart') AND c.follows_preemption",
    ),
    "only named source regions": (
        "F3",
        "cross_region_egress",
        "WHERE e.from_region <> e.to_region",
        "WHERE e.attempt_key NOT IN (SELECT attempt_key FROM attempt_usage WHERE measure = 'bytes_sent' AND kind IS NULL)",
    ),
    "requests of machines alone": ("F4", "unreported_io", "AND u.machine IS NULL", "AND false"),
    "whole bills instead of shared time": (
        "F5",
        "machines_on_two_bills",
        "integer_part(in_units(effective), shared_seconds, seconds)",
        "in_units(effective)",
    ),
    "like runs that fit the machine": ("F5", "duplicate_runs", "2 * (amount - capacity) > rounded", "true"),
    "the first day as the usual one": ("F6", "commitment_window", "m.position = (m.days + 1) // 2", "m.position = 1"),
    "a gate ahead of the limit": (
        "F6",
        "commitment_window",
        "abs(effective - expected_effective) > explained",
        "10 * abs(effective - expected_effective) > expected_effective",
    ),
    "bursts of three": ("F7", "unbounded_autoscaler", "HAVING count(*) >= 4", "HAVING count(*) >= 3"),
    "machines that are only listed": ("F8", "late_machines", "WHERE existed_to < 253402300800", "WHERE listed"),
    "one person per role": ("F9", "implausible_labor", "'entry ' || e.delivery || ' ' || e.line", "'role ' || e.role"),
    "the first hours of a day": ("F9", "implausible_labor", "delivery DESC, line DESC", "delivery, line"),
    "licenses from the first are old": ("F10", "new_licenses", "p.month IS NOT NULL OR ", ""),
}
"""By name: the failure mode, its step, and the text whose replacement brings the mistake back."""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_model_notices_the_mistake(keeper: Bookkeeper, monkeypatch: pytest.MonkeyPatch, mistake: str) -> None:
    code, step, text, replacement = MISTAKES[mistake]
    original = sql._file

    def mistaken(package: str, name: str) -> str:
        found = original(package, name)
        assert name != step or text in found
        return found.replace(text, replacement) if name == step else found

    monkeypatch.setattr(sql, "_file", mistaken)
    found, expected = found_in(keeper, "a company for every mistake", COMPANIES)
    wrong = {key[0] for key in found.keys() | expected.keys() if found.get(key) != expected.get(key)}
    assert wrong - {"LISTED_NOT_BILLED"} == {code}
