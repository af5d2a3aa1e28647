"""Grains: the tables of a book at a few levels of detail, so that a question reads the smallest one that answers it."""
