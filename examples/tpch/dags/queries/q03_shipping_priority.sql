-- TPC-H query 3: the orders of most value that had not been shipped.
{% set data = ti.xcom_pull(task_ids="generate") %}
SELECT l_orderkey,
       sum(l_extendedprice * (1 - l_discount)) AS revenue,
       o_orderdate, o_shippriority
  FROM parquet.`{{ data }}/customer.parquet`
  JOIN parquet.`{{ data }}/orders.parquet` ON o_custkey = c_custkey
  JOIN parquet.`{{ data }}/lineitem.parquet` ON l_orderkey = o_orderkey
 WHERE c_mktsegment = 'BUILDING'
   AND o_orderdate < DATE '1995-03-15'
   AND l_shipdate > DATE '1995-03-15'
 GROUP BY l_orderkey, o_orderdate, o_shippriority
 ORDER BY revenue DESC, o_orderdate
 LIMIT 10;
