-- TPC-H query 6: what some discounts have cost in 1994.
{% set data = ti.xcom_pull(task_ids="generate") %}
SELECT sum(l_extendedprice * l_discount) AS revenue
  FROM parquet.`{{ data }}/lineitem.parquet`
 WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
   AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01
   AND l_quantity < 24;
