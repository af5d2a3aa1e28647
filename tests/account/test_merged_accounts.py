"""Accounts that are traced together keep their numbers apart."""

import pytest

from trainfare.allocate import merged_accounts
from trainfare.engine.choice import embedded
from trainfare.errors import TrainfareError


def test_an_account_whose_numbers_would_be_those_of_another_is_refused() -> None:
    with embedded() as engine:
        engine.table("kind_routes", "SELECT 1 AS kind, 50000000 AS route, 1 AS target, 1 AS category")
        with pytest.raises(TrainfareError, match="too many rows of kind_routes to be traced together"):
            merged_accounts.start(engine)
