"""`python -m headway.kubectl` is `kubectl-headway`."""

from headway.kubectl.main import main

main()
