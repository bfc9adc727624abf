"""Provider packages that are other ones now than those that a version was made with."""

from headway.decide.changes.provider_changes import ProviderChange, provider_changes


def test_other_versions_are_told_and_what_is_not_known_is_left_out() -> None:
    noted = {"same": "1", "gone": "1", "newer": "1", "again": "2"}
    installed = {"same": "1", "newer": "2", "again": "1", "added": "1"}

    assert provider_changes(noted, installed) == (
        ProviderChange("again", "2", "1"),
        ProviderChange("newer", "1", "2"),
    )
