"""What a person is told when many things are wrong: something of each kind, and how much more there is."""

import pytest

from trainfare.errors import SHOWN_FAULTS, BadInputError, Faults


def told(faults: Faults) -> str:
    with pytest.raises(BadInputError) as refused:
        faults.refuse()
    return str(refused.value)


def test_no_file_and_no_remedy_is_left_out():
    faults = Faults()
    for line in range(2, 40):
        faults.add(f"bill.csv:{line}", f"BilledCost '{line}x' is not an amount", "Write it as 12.50.")
    faults.add("bill.csv:7", "BillingCurrency 'usd$' is not a currency", "Write it as USD.")
    faults.add("other.csv:2", "BilledCost 'x' is not an amount", "Write it as 12.50.")
    text = told(faults)
    assert text.count("bill.csv:") == SHOWN_FAULTS - 1
    assert "Write it as USD." in text
    assert "other.csv:2" in text
    assert text.endswith("... and 20 more like these.")


def test_more_kinds_than_are_shown_are_not_called_alike():
    faults = Faults()
    for number in range(SHOWN_FAULTS + 5):
        faults.add(f"file{number}.csv:2", "it is wrong", "Mend it.")
    assert told(faults).endswith("... and 5 more.")
