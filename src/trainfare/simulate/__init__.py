"""Invent a month of a company, written as the files it would have, with the truth kept beside them."""

from trainfare.simulate.files import DEFAULT_MONTH, Simulated, write

__all__ = ["DEFAULT_MONTH", "Simulated", "write"]
