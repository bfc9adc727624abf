"""Changes of runs that users, time limits and `overlap` ask for alike."""
