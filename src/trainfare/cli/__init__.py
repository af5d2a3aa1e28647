"""The command line: one short function per command. Nothing heavy is imported before a command needs it."""

import sys

try:
    from trainfare.cli.main import main
except KeyboardInterrupt:  # Ctrl-C before a command could handle it
    print("interrupted", file=sys.stderr)
    raise SystemExit(130) from None

__all__ = ["main"]
