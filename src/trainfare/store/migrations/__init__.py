"""How the catalog came to look as it does: one file per change, in order. A published file never changes."""
