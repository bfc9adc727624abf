"""Which text is a template, and whether it can be one."""

import pytest

from headway.domain.dag.templates import fault_of


@pytest.mark.parametrize(
    "text", ["", "ds", "{ds}", "}} %} #}", "{{ ds }}", "{% if x %}{% endif %}"]
)
def test_plain_text_and_a_template_have_no_fault(text: str) -> None:
    assert fault_of(text) is None


@pytest.mark.parametrize("text", ["{{ ds", "{% if x %}", "{# ds"])
def test_each_mark_alone_makes_a_template(text: str) -> None:
    assert fault_of(text)
