"""Amortize ledgers: their schedules become charges in the months that other records cover."""
