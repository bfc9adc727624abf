"""What a function in another Python imports; headway reads it as a file that makes no DAG."""

FIRST = "left"
