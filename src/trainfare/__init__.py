"""Trainfare: what one hour of training really cost, and where each dollar comes from."""

__version__ = "0.1.0"
