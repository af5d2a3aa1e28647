"""The command line: one short function per command. Nothing heavy is imported before a command needs it."""

from trainfare.cli.main import main

__all__ = ["main"]
