"""Simulate a month of a company: write the files it would have, and the true costs next to them."""

from trainfare.simulate.files import DEFAULT_MONTH, SimulatedMonth, write

__all__ = ["DEFAULT_MONTH", "SimulatedMonth", "write"]
