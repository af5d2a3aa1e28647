"""The remainder rule as SQL: every payer gets the integer part, and the heaviest gets what does not divide.

`money.split` is the same rule in Python. The allocation of a whole bill is too large for one window per pot, so it
applies the rule in two tables: `weight_totals` names the heaviest payer of each pot (the macro `weight_rank` orders in
the same way), and `remainder_transfers` moves every other payer's part away from it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Amount:
    """A column to split, in whole units, and SQL for the integer part that a payer gets of it."""

    name: str
    part: str


def amounts(names: Iterable[str]) -> list[Amount]:
    """Return amounts that belong to one pot each."""
    return [Amount(name, f"integer_part({name}, weight, total_weight)") for name in names]


def running_amounts(names: Iterable[str], integer_part: str = "integer_part") -> list[Amount]:
    """Return amounts of lines, of which `{name}_running` is the sum up to and including the line within its pot.

    A payer's part of a line is the growth of its part of the running sum, so the parts of a pot's lines add up to the
    payer's part of the pot.
    """
    return [
        Amount(
            name,
            f"{integer_part}({name}_running, weight, total_weight) "
            f"- {integer_part}({name}_running - {name}, weight, total_weight)",
        )
        for name in names
    ]


@dataclass(frozen=True)
class Split:
    """How to split the rows of a table, one per pot and payer: a `weight` and the amounts of the pot.

    `pot` names the columns that identify a pot. Of equal weights the first by `order` is the heaviest. `keep` names the
    columns that pass through beside `weight` and `total_weight`.
    """

    pot: Sequence[str]
    order: Sequence[str]
    keep: Sequence[str]
    amounts: Sequence[Amount]

    def select(self, table: str) -> str:
        """Return a SELECT of every payer's part; the parts of a pot add up to its amounts exactly."""
        pot = ", ".join(self.pot)
        parts = ", ".join(
            f"CASE WHEN is_heaviest THEN 0 ELSE {amount.part} END AS {amount.name}_part" for amount in self.amounts
        )
        results = ", ".join(
            f"CASE WHEN is_heaviest THEN {name} - sum({name}_part) OVER pot ELSE {name}_part END AS {name}"
            for name in (amount.name for amount in self.amounts)
        )
        return f"""
SELECT {", ".join(self.keep)}, weight, total_weight, {results}
FROM (
  SELECT *, {parts}
  FROM (
    SELECT *, CAST(sum(weight) OVER (PARTITION BY {pot}) AS BIGINT) AS total_weight,
      row_number() OVER (PARTITION BY {pot} ORDER BY weight DESC, {", ".join(self.order)}) = 1 AS is_heaviest
    FROM {table}
  )
)
WINDOW pot AS (PARTITION BY {pot})"""
