"""`python -m trainfare` is `trainfare`."""

from trainfare.cli import main

main()
