"""Run SQL steps. Knows no cost words."""
