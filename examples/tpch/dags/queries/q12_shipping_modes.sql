-- TPC-H query 12: whether cheap modes of shipping delay urgent orders.
{% set data = ti.xcom_pull(task_ids="generate") %}
SELECT l_shipmode,
       count_if(o_orderpriority IN ('1-URGENT', '2-HIGH')) AS high_line_count,
       count_if(o_orderpriority NOT IN ('1-URGENT', '2-HIGH')) AS low_line_count
  FROM parquet.`{{ data }}/orders.parquet`
  JOIN parquet.`{{ data }}/lineitem.parquet` ON l_orderkey = o_orderkey
 WHERE l_shipmode IN ('MAIL', 'SHIP')
   AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
   AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'
 GROUP BY l_shipmode
 ORDER BY l_shipmode;
