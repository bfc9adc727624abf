-- TPC-H query 5: the revenue of suppliers from customers of their own nation, in Asia in 1994.
{% set data = ti.xcom_pull(task_ids="generate") %}
SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
  FROM parquet.`{{ data }}/customer.parquet`
  JOIN parquet.`{{ data }}/orders.parquet` ON o_custkey = c_custkey
  JOIN parquet.`{{ data }}/lineitem.parquet` ON l_orderkey = o_orderkey
  JOIN parquet.`{{ data }}/supplier.parquet` ON s_suppkey = l_suppkey AND s_nationkey = c_nationkey
  JOIN parquet.`{{ data }}/nation.parquet` ON n_nationkey = s_nationkey
  JOIN parquet.`{{ data }}/region.parquet` ON r_regionkey = n_regionkey
 WHERE r_name = 'ASIA'
   AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'
 GROUP BY n_name
 ORDER BY revenue DESC;
