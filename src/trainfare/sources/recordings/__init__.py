"""Recordings of collectors as a source: the fold of observations, and the placements that it yields."""
