"""The tables of the live account, in a database of their own."""
