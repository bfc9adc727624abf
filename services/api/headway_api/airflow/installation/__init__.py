"""What an installation is: its release, its health, its processes, its pools."""
