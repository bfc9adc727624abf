"""The template files that are part of a DAG's version: what tasks name, and what that includes."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headway.sdk.authoring.mapped import MappedOperator
from headway.sdk.context import template_files
from headway.sdk.context.template_files import FileText
from headway.sdk.context.templates import texts_in

if TYPE_CHECKING:
    from headway.sdk.authoring.definition import DAG
    from headway.sdk.authoring.operator import BaseOperator

_REFERENCE: Final = re.compile(r"\b(?:include|extends|import)\b")
"""What a template holds that uses another one."""


def of_tasks(dag: "DAG") -> set[Path]:
    """Return the template files of a DAG's tasks; DagError if a field names one that is missing.

    The file of a DAG written for Airflow gets a warning instead, and the task fails when it runs.
    A name that is built while a template renders is not known here.
    """
    texts = [text for task in dag.tasks for text in _texts(dag, task)]
    found = {text.path for text in texts if isinstance(text, FileText)}
    if dag.jinja_environment_kwargs or any(map(_REFERENCE.search, texts)):
        found |= _referenced(dag, texts)
    return found


def _texts(dag: "DAG", task: "BaseOperator") -> Iterator[str]:
    """Yield the texts in the template fields of a task, and for names of files their contents."""
    endings = _endings(task)
    for field, value in _fields(task):
        for text in texts_in(value):
            if not endings or not template_files.is_name(text, endings):
                yield text
                continue
            content = template_files.read(dag, text)
            if content is not None:
                yield content
            elif value is text:
                dag.miss_template_file(f"{task.where}: {template_files.missing(field, text)}")


def _referenced(dag: "DAG", waiting: list[str]) -> set[Path]:
    """Return the files that these templates use, and those that these use in turn."""
    from jinja2 import TemplateSyntaxError
    from jinja2.meta import find_referenced_templates

    from headway.sdk.context.jinja_environment import environment_of

    environment = environment_of(dag)
    found: set[Path] = set()
    while waiting:
        source = waiting.pop()
        if not _REFERENCE.search(source):
            continue
        try:
            names = list(find_referenced_templates(environment.parse(source)))
        except TemplateSyntaxError:
            continue  # which the task is told that renders it
        contents = [template_files.read(dag, name) for name in names if name is not None]
        for content in contents:
            if content is not None and content.path not in found:
                found.add(content.path)
                waiting.append(content)
    return found


def _endings(task: "BaseOperator") -> Sequence[str]:
    if isinstance(task, MappedOperator):
        own: Sequence[str] | None = task.shared_arguments().get("templates_exts")
        return own or task.blueprint.operator.template_ext
    return task.template_ext


def _fields(task: "BaseOperator") -> list[tuple[str, object]]:
    """Return the template fields of a task, and their values as far as these are known."""
    if not isinstance(task, MappedOperator):
        return [(field, getattr(task, field)) for field in task.template_fields]
    return [
        field
        for arguments in (task.shared_arguments(), *task.expansion.literals())
        for field in arguments.items()
    ]
