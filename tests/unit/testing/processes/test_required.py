"""A test whose program or module is missing skips, or fails where all is required."""

import pytest

from headway.testing.processes.required import fail_for_missing, required_program

HERE = "test_it.py"


def skipped(reason: str) -> pytest.TestReport:
    return pytest.TestReport(HERE, (HERE, 1, "test"), {}, "skipped", (HERE, 1, reason), "call")


def test_a_program_is_found_or_the_test_skips() -> None:
    assert required_program("sh", "dash").endswith("/sh")
    with pytest.raises(pytest.skip.Exception, match="apt-get install no-such-package"):
        required_program("no-such-program", "no-such-package")


@pytest.mark.regression
@pytest.mark.parametrize(
    "reason",
    [
        "Skipped: faketime is not installed: apt-get install faketime",
        "Skipped: could not import 'pyspark': No module named 'pyspark'",
    ],
)
def test_a_test_that_misses_a_tool_fails_if_all_is_required(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_REQUIRE", "all")
    report = skipped(reason)

    fail_for_missing(report)

    assert report.failed
    assert reason in str(report.longrepr)


def test_a_kernel_without_a_layer_is_no_missing_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_REQUIRE", "all")
    report = skipped("Skipped: this kernel does not have every layer")

    fail_for_missing(report)

    assert report.skipped


def test_without_that_setting_a_test_may_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_REQUIRE", raising=False)
    report = skipped("Skipped: faketime is not installed")

    fail_for_missing(report)

    assert report.skipped
