"""The validation answers of TPC-H for scale 1, as its specification prints them."""

from typing import Any, Final

Rows = list[dict[str, Any]]


def _rows(names: str, *rows: str) -> Rows:
    return [dict(zip(names.split(), row.split(), strict=True)) for row in rows]


AT_SCALE_1: Final[dict[str, Rows]] = {
    "q01_pricing_summary": _rows(
        "l_returnflag l_linestatus sum_qty sum_base_price sum_disc_price sum_charge "
        "avg_qty avg_price avg_disc count_order",
        "A F 37734107.00 56586554400.73 53758257134.87 55909065222.83 25.52 38273.13 0.05 1478493",
        "N F 991417.00 1487504710.38 1413082168.05 1469649223.19 25.52 38284.47 0.05 38854",
        "N O 74476040.00 111701729697.74 106118230307.61 110367043872.50 "
        "25.50 38249.12 0.05 2920374",
        "R F 37719753.00 56568041380.90 53741292684.60 55889619119.83 25.51 38250.85 0.05 1478870",
    ),
    "q03_shipping_priority": _rows(
        "l_orderkey revenue o_orderdate o_shippriority",
        "2456423 406181.01 1995-03-05 0",
        "3459808 405838.70 1995-03-04 0",
        "492164 390324.06 1995-02-19 0",
        "1188320 384537.94 1995-03-09 0",
        "2435712 378673.06 1995-02-26 0",
        "4878020 378376.80 1995-03-12 0",
        "5521732 375153.92 1995-03-13 0",
        "2628192 373133.31 1995-02-22 0",
        "993600 371407.46 1995-03-05 0",
        "2300070 367371.15 1995-03-13 0",
    ),
    "q05_local_supplier_volume": _rows(
        "n_name revenue",
        "INDONESIA 55502041.17",
        "VIETNAM 55295087.00",
        "CHINA 53724494.26",
        "INDIA 52035512.00",
        "JAPAN 45410175.70",
    ),
    "q06_revenue_change": _rows("revenue", "123141078.23"),
    "q12_shipping_modes": _rows(
        "l_shipmode high_line_count low_line_count",
        "MAIL 6202 9324",
        "SHIP 6200 9262",
    ),
}
