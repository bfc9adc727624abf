"""`python -m headway.cli` is the `headway` command."""

from headway.cli.entry import main

main()
