"""Operations on DAGs: their grid, calendar, timetable, versions and code."""
