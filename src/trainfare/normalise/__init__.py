"""Bring what was delivered into one shape: kinds of charges, machines, attempts and what they held."""
