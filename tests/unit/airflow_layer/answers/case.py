"""What a case is: a DAG file, and the runs that are asked for."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Case:
    """A DAG file, whose DAGs run one after the other, and the conf of their runs."""

    source: str
    dag_ids: tuple[str, ...]
    conf: dict[str, str] = field(default_factory=dict)
