"""What a book says beside its shares: hours, totals of the bill, and what is wrong."""
