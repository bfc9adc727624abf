"""One timetable of each kind that runs by rule, and of what they can be combined to."""

from datetime import datetime, timedelta
from typing import Final

from headway.timetables.base import Timetable
from headway.timetables.kinds.boolean import Days, Hours, Minutes, Weekdays
from headway.timetables.kinds.cron import CronTimetable, DataTimetable, MultipleCronTimetable
from headway.timetables.kinds.days import Holidays, TradingDays, Workdays
from headway.timetables.kinds.events import EventsTimetable
from headway.timetables.kinds.paydays import LastWorkdayOnOrBefore
from headway.timetables.kinds.solar import Sunrise, Sunset
from headway.timetables.kinds.wrapped import Delayed, RollingWindow

at = datetime.fromisoformat
DAY: Final = timedelta(days=1)
NINE: Final = CronTimetable("0 9 * * *")
HOURLY: Final = CronTimetable("0 * * * *")
DAILY: Final = DataTimetable("@daily")

TIMETABLES: Final[list[Timetable]] = [
    DAILY,
    DataTimetable("@hourly"),
    DataTimetable("*/30 * * * *"),
    DataTimetable("0 0 * * MON-FRI", DAY),
    DataTimetable("0 0 31 * *", "P1M"),
    DataTimetable("0 * * * *", 7 * DAY),
    DataTimetable("* * * * *", "P30D"),
    DataTimetable("30 2 * * *", "P1DT6H"),
    NINE,
    HOURLY,
    MultipleCronTimetable(["30 1 * * *", "30 2 * * *", "*/30 * * * *"]),
    EventsTimetable([at("2010-11-01T00:00Z") + n * DAY for n in range(1200)]),
    Hours(0, 1, 2) & Minutes(30),
    Minutes("*/20") & ~Weekdays("SAT") | Hours(23) & Days("L"),
    Workdays(),
    Workdays("US"),
    TradingDays("XNYS"),
    LastWorkdayOnOrBefore(15),
    LastWorkdayOnOrBefore(1),
    Sunrise(40.7, -74),
    Sunset(-13.8, -171.8),
    RollingWindow(DAILY, "P7D"),
    RollingWindow(DataTimetable("0 0 L * *"), "P1M"),
    RollingWindow(LastWorkdayOnOrBefore(31), "P2M"),
    RollingWindow(DataTimetable("@hourly"), "P1D"),
    RollingWindow(NINE & Workdays("US"), "P7D"),
    Delayed(DAILY, "PT26H"),
    Delayed(RollingWindow(HOURLY, "PT90M"), "PT5M"),
    NINE | HOURLY | CronTimetable("30 1 * * *"),
    Workdays("US") | Holidays("US"),
    NINE & Workdays("US"),
    Workdays() - Holidays("US"),
    HOURLY - (Hours(1, 2) | Weekdays("SUN")),
    DAILY & TradingDays("XNYS"),
    (NINE | HOURLY) & Workdays() - LastWorkdayOnOrBefore(15),
    DAILY - EventsTimetable(["2013-03-10", "2013-11-03"]),
    HOURLY & (NINE | CronTimetable("0 18 * * MON-FRI")),
    HOURLY - (NINE | CronTimetable("0 18 * * MON-FRI")),
    HOURLY & (Workdays("US") | Holidays("DE")),
    Workdays("US") & (DataTimetable("0 6 * * *", DAY) | Holidays("US")),
]
