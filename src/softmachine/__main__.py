"""Entry point of ``python -m softmachine``: the command line."""

from softmachine.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
