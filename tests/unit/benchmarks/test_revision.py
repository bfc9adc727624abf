"""What an older revision is installed with."""

from benchmarks.support.revision import EXTRAS, ROOT


def test_an_older_revision_has_all_that_make_install_installs() -> None:
    """Without the API's packages its services would run without an API, and cost less."""
    assert f"--editable '{EXTRAS}'" in (ROOT / "Makefile").read_text()
