"""How operators of provider packages render objects, by the methods that Airflow's have for it."""

import copy
from collections.abc import Iterable
from typing import Any

from headway.domain.arguments import PLAIN
from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.authoring.xcom_arg import transform
from headway.sdk.running.context import Context


class RendersObjects(BaseOperator):
    """What renders the objects that `_render_nested_template_fields` of an operator knows."""

    def render_object(self, item: Any, context: Context) -> Any:
        """Return a copy of an object with its templates rendered; others as they are."""
        own = type(self)._render_nested_template_fields  # noqa: SLF001
        if own is RendersObjects._render_nested_template_fields:
            return item
        made = copy.deepcopy(item)
        self._render_nested_template_fields(made, context, None, set())
        return made

    def render_template(
        self, content: Any, context: Context, jinja_env: Any = None, seen_oids: Any = None
    ) -> Any:
        """Return content with its templates rendered; objects in it are changed themselves."""

        def leaf(item: Any) -> Any:
            if isinstance(item, str):
                return context["ti"].render(item, context)
            if type(item) not in PLAIN:
                self._render_nested_template_fields(item, context, jinja_env, seen_oids or set())
            return item

        return transform(content, leaf)

    def get_template_env(self, dag: Any = None) -> Any:
        """Return nothing that counts: the context's `ti` renders by the environment of its DAG."""
        return dag

    def _do_render_template_fields(
        self,
        parent: Any,
        template_fields: Iterable[str],
        context: Context,
        jinja_env: Any,
        seen_oids: set[int],
    ) -> None:
        """Render these attributes of an object in place."""
        for name in template_fields:
            value = getattr(parent, name)
            if value:
                rendered = self.render_template(value, context, jinja_env, seen_oids)
                setattr(parent, name, rendered)

    def _render_nested_template_fields(
        self, content: Any, context: Context, jinja_env: Any, seen_oids: set[int]
    ) -> None:
        """Render in place what an object names in its own `template_fields`."""
        if id(content) not in seen_oids and not isinstance(content, type):
            seen_oids.add(id(content))
            fields = getattr(content, "template_fields", ())
            self._do_render_template_fields(content, fields, context, jinja_env, seen_oids)
