"""Ledgers become charges: schedules laid over the months that other records speak of."""
