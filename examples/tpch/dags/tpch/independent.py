"""The five queries a second time, without Spark and without SQL, in whole numbers.

Money is in ten-thousandths: a price in cents times a discount in hundredths, exactly.
"""

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

Rows = list[dict[str, Any]]
TWENTY_FOUR: Final = 2400
_SHIFT: Final = Decimal(10_000)


def expected(query: str, folder: Path) -> Rows:
    """Return the rows that a query must give on the data in `folder`."""
    return _QUERIES[query](folder)


def _read(folder: Path, table: str, *columns: str) -> Any:
    """Return columns of a table as a pandas frame; decimals become whole hundredths."""
    import pyarrow as pa
    from pyarrow import parquet

    found = parquet.read_table(folder / f"{table}.parquet", columns=list(columns))
    arrays = [_plain(found[name], pa) for name in columns]
    return pa.table(arrays, names=list(columns)).to_pandas()


def _plain(column: Any, pa: Any) -> Any:
    import pyarrow.compute as pc

    if pa.types.is_decimal(column.type):
        return pc.multiply(column, pa.scalar(Decimal(100))).cast(pa.int64())
    return column.cast(pa.string()) if column.type == pa.string_view() else column


def _money(ten_thousandths: Any) -> str:
    return str(Decimal(int(ten_thousandths)) / _SHIFT)


def _hundredths(number: Any) -> str:
    return str(Decimal(int(number)) / 100)


def _mean(total: Any, count: Any) -> str:
    return str(Decimal(int(total)) / 100 / int(count))


def _revenue(lines: Any) -> Any:
    return lines.l_extendedprice * (100 - lines.l_discount)


def _q01(folder: Path) -> Rows:
    lines = _read(
        folder,
        "lineitem",
        *("l_returnflag", "l_linestatus", "l_quantity", "l_extendedprice"),
        *("l_discount", "l_tax", "l_shipdate"),
    )
    lines = lines[lines.l_shipdate <= date(1998, 9, 2)]
    lines["revenue"] = _revenue(lines)
    lines["charge"] = lines.revenue * (100 + lines.l_tax)
    rows = []
    for (flag, status), group in lines.groupby(["l_returnflag", "l_linestatus"], sort=True):
        count = len(group)
        rows.append(
            {
                "l_returnflag": flag,
                "l_linestatus": status,
                "sum_qty": _hundredths(group.l_quantity.sum()),
                "sum_base_price": _hundredths(group.l_extendedprice.sum()),
                "sum_disc_price": _money(group.revenue.sum()),
                "sum_charge": str(Decimal(int(group.charge.sum())) / _SHIFT / 100),
                "avg_qty": _mean(group.l_quantity.sum(), count),
                "avg_price": _mean(group.l_extendedprice.sum(), count),
                "avg_disc": _mean(group.l_discount.sum(), count),
                "count_order": count,
            }
        )
    return rows


def _q03(folder: Path) -> Rows:
    customers = _read(folder, "customer", "c_custkey", "c_mktsegment")
    orders = _read(folder, "orders", "o_orderkey", "o_custkey", "o_orderdate", "o_shippriority")
    lines = _read(folder, "lineitem", "l_orderkey", "l_extendedprice", "l_discount", "l_shipdate")
    building = set(customers[customers.c_mktsegment == "BUILDING"].c_custkey)
    day = date(1995, 3, 15)
    orders = orders[(orders.o_orderdate < day) & orders.o_custkey.isin(building)]
    lines = lines[lines.l_shipdate > day].merge(orders, left_on="l_orderkey", right_on="o_orderkey")
    lines["revenue"] = _revenue(lines)
    keys = ["l_orderkey", "o_orderdate", "o_shippriority"]
    sums = lines.groupby(keys, as_index=False).revenue.sum()
    first = sums.sort_values(["revenue", "o_orderdate"], ascending=[False, True]).head(10)
    return [
        {
            "l_orderkey": int(row.l_orderkey),
            "revenue": _money(row.revenue),
            "o_orderdate": row.o_orderdate.isoformat(),
            "o_shippriority": int(row.o_shippriority),
        }
        for row in first.itertuples()
    ]


def _q05(folder: Path) -> Rows:
    regions = _read(folder, "region", "r_regionkey", "r_name")
    nations = _read(folder, "nation", "n_nationkey", "n_name", "n_regionkey")
    asia = set(regions[regions.r_name == "ASIA"].r_regionkey)
    names = nations[nations.n_regionkey.isin(asia)].set_index("n_nationkey").n_name.to_dict()
    home = _read(folder, "supplier", "s_suppkey", "s_nationkey").set_index("s_suppkey")
    buyers = _read(folder, "customer", "c_custkey", "c_nationkey").set_index("c_custkey")
    orders = _read(folder, "orders", "o_orderkey", "o_custkey", "o_orderdate")
    year = (orders.o_orderdate >= date(1994, 1, 1)) & (orders.o_orderdate < date(1995, 1, 1))
    buyer = orders[year].set_index("o_orderkey").o_custkey.map(buyers.c_nationkey)
    lines = _read(folder, "lineitem", "l_orderkey", "l_suppkey", "l_extendedprice", "l_discount")
    lines = lines[lines.l_orderkey.isin(buyer.index)]
    nation = lines.l_suppkey.map(home.s_nationkey)
    local = lines[(nation == lines.l_orderkey.map(buyer)) & nation.isin(names)]
    sums = _revenue(local).groupby(nation).sum().sort_values(ascending=False)
    return [{"n_name": names[key], "revenue": _money(total)} for key, total in sums.items()]


def _q06(folder: Path) -> Rows:
    lines = _read(folder, "lineitem", "l_quantity", "l_extendedprice", "l_discount", "l_shipdate")
    chosen = lines[
        (lines.l_shipdate >= date(1994, 1, 1))
        & (lines.l_shipdate < date(1995, 1, 1))
        & lines.l_discount.between(5, 7)
        & (lines.l_quantity < TWENTY_FOUR)
    ]
    return [{"revenue": _money((chosen.l_extendedprice * chosen.l_discount).sum())}]


def _q12(folder: Path) -> Rows:
    orders = _read(folder, "orders", "o_orderkey", "o_orderpriority").set_index("o_orderkey")
    dates = ("l_shipdate", "l_commitdate", "l_receiptdate")
    lines = _read(folder, "lineitem", "l_orderkey", "l_shipmode", *dates)
    year = (lines.l_receiptdate >= date(1994, 1, 1)) & (lines.l_receiptdate < date(1995, 1, 1))
    late = (lines.l_commitdate < lines.l_receiptdate) & (lines.l_shipdate < lines.l_commitdate)
    lines = lines[year & late & lines.l_shipmode.isin(["MAIL", "SHIP"])]
    high = lines.l_orderkey.map(orders.o_orderpriority).isin(["1-URGENT", "2-HIGH"])
    return [
        {
            "l_shipmode": mode,
            "high_line_count": int(high[group.index].sum()),
            "low_line_count": int((~high[group.index]).sum()),
        }
        for mode, group in lines.groupby("l_shipmode", sort=True)
    ]


_QUERIES: Final[Mapping[str, Callable[[Path], Rows]]] = {
    "q01_pricing_summary": _q01,
    "q03_shipping_priority": _q03,
    "q05_local_supplier_volume": _q05,
    "q06_revenue_change": _q06,
    "q12_shipping_modes": _q12,
}
