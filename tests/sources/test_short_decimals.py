"""A float is read as its shortest decimal, whether or not it is short enough to be converted quickly."""

from decimal import ROUND_HALF_UP, Decimal
from math import nextafter
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from trainfare.engine.duckdb import DuckDB
from trainfare.sources.bills.charges import FINE, have_finer_digits
from trainfare.sources.raw import describe_table, is_short_decimal, keeps_short_decimals
from trainfare.tables import MONEY

UNIT = Decimal("1e-12")


def floats(seed: int) -> list[float]:
    """Return amounts as bills have them, their neighbors, and those at the limits of what is quick."""
    random, found = Random(seed), [0.0, -0.0, 999.999999999999, 1000.0, 1e-12, 5e-13, 4.9e-13, 1e-13, 0.1 + 0.2, 1e15]
    for _ in range(4000):
        size = 10 ** random.randint(1, 15)
        exact = Decimal(random.randint(-size, size)).scaleb(-random.randint(0, 13))
        found.append(float(exact))
        if random.random() < 0.5:
            found.append(nextafter(float(exact), random.choice((-1e9, 1e9))))
    return [one for one in found if abs(one) < 1e15]


def test_every_float_is_its_shortest_decimal_and_quick_ones_have_no_finer_digits(tmp_path: Path) -> None:
    values = floats(1)
    pq.write_table(pa.table({"line": range(len(values)), "x": values}), path := tmp_path / "x.parquet")
    engine = DuckDB()
    engine.view("given", f"SELECT * FROM '{path}'")
    raw = describe_table(engine, "given", path)
    money, fine, short = raw.number("x", MONEY), raw.number("x", FINE), is_short_decimal('"x"')
    found = engine.rows(f"SELECT {money}, {fine}, {short} FROM given ORDER BY line")
    quick = 0
    for value, (amount, finest, is_quick) in zip(values, found, strict=True):
        exact = Decimal(repr(value))
        assert amount == exact.quantize(UNIT, ROUND_HALF_UP), value
        if is_quick:
            assert amount == finest == exact, value
            assert abs(exact) < 1000
        quick += is_quick
    assert 1000 < quick < len(values) - 1000
    assert have_finer_digits(raw, ["x"])
    engine.view("given", f"SELECT line, round(x, 3) AS x FROM '{path}' WHERE abs(x) < 1000000")
    assert not have_finer_digits(raw, ["x"])


def test_only_types_with_enough_digits_are_converted_quickly() -> None:
    assert keeps_short_decimals(MONEY)
    assert keeps_short_decimals(FINE)
    assert not any(map(keeps_short_decimals, ("DECIMAL(18,6)", "DECIMAL(14,12)", "INTEGER", "DOUBLE")))
