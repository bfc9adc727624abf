"""When a child that died is started again, on a clock that stands still in between."""



