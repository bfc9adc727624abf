"""The kinds of timetable, a module each."""
