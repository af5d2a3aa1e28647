"""Recordings: what collectors observed, first in the catalog, then sealed in the lake."""
