"""`python -m headway.cli` is the `headway` command."""

from headway.cli.main import main

main()
