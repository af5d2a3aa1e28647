"""A row of a native bill next to what it became: the values it has, the expression and the FOCUS value, by column."""

import re
from decimal import Decimal

from trainfare.money import decimal_text
from trainfare.sources.bills.native import Conversion

LONGEST_EXPRESSION = 160


def side_by_side(made: Conversion) -> list[dict[str, str]]:
    """Return one row per FOCUS column that has a value, with the native columns that its expression names."""
    given = {_bare(name): (name, value) for name, value in made.native.items()}
    rows = []
    for column, expression in made.expressions.items():
        if made.focus.get(column) is None:
            continue
        words = dict.fromkeys(_bare(word) for word in re.findall(r"[\w/:]+|\"[^\"]+\"", expression))
        native = [f"{given[word][0]}={_shown(given[word][1])}" for word in words if word in given]
        is_long = len(expression) > LONGEST_EXPRESSION
        rows.append(
            {
                "focus_column": column,
                "focus_value": _shown(made.focus.get(column)),
                "native_columns": ", ".join(text for text in native if not text.endswith("=")),
                "mapping": f"{expression[:LONGEST_EXPRESSION]} ..." if is_long else expression,
            }
        )
    return rows


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _shown(value: object) -> str:
    return "" if value is None else (decimal_text(value) or "") if isinstance(value, Decimal) else str(value)
