"""Every way to say what waits for what."""

from headway.sdk import DAG, EmptyOperator, chain, cross_downstream


def empty(*names: str) -> list[EmptyOperator]:
    return [EmptyOperator(task_id=name) for name in names]


with DAG("arrows"):
    a, b, c, d, e = empty("a", "b", "c", "d", "e")
    a >> [b, c] >> d
    e << d

with DAG("chained"):
    a, b, c, d, e, f = empty("a", "b", "c", "d", "e", "f")
    chain(a, [b, c], [d, e], f)

with DAG("crossed"):
    a, b, c, d = empty("a", "b", "c", "d")
    cross_downstream([a, b], [c, d])

with DAG("by_method"):
    a, b, c = empty("a", "b", "c")
    b.set_upstream(a)
    b.set_downstream(c)
