"""The live account: what is being spent, by whom, at any moment, from the same records that a book is built from."""
