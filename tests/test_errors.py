"""The message for many problems: some of each kind, and how many more there are."""

import pytest

from trainfare.errors import SHOWN_PROBLEMS, BadInputError, Problems


def message(problems: Problems) -> str:
    with pytest.raises(BadInputError) as raised:
        problems.raise_if_any()
    return str(raised.value)


def test_every_file_and_every_remedy_is_shown():
    problems = Problems()
    for line in range(2, 40):
        problems.add(f"bill.csv:{line}", f"BilledCost '{line}x' is not an amount", "Write it as 12.50.")
    problems.add("bill.csv:7", "BillingCurrency 'usd$' is not a currency", "Write it as USD.")
    problems.add("other.csv:2", "BilledCost 'x' is not an amount", "Write it as 12.50.")
    text = message(problems)
    assert text.count("bill.csv:") == SHOWN_PROBLEMS - 1
    assert "Write it as USD." in text
    assert "other.csv:2" in text
    assert text.endswith("... and 20 more like these.")


def test_hidden_problems_of_other_kinds_are_not_called_similar():
    problems = Problems()
    for number in range(SHOWN_PROBLEMS + 5):
        problems.add(f"file{number}.csv:2", "it is wrong", "Fix it.")
    assert message(problems).endswith("... and 5 more.")
