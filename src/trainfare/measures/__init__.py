"""Compute what a book records besides its shares: billed hours, bill totals, lost work, usage and estimate errors."""
