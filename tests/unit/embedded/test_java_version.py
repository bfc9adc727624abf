import pytest

from headway.embedded.java import java_version


@pytest.mark.parametrize(
    ("banner", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19 LTS', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('java version "1.8.0_392"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21.0.8" 2025-07-15', 21),
        ("Unable to locate a Java Runtime.", None),
    ],
)
def test_the_major_version_is_read_from_the_banner(banner: str, version: int | None) -> None:
    assert java_version(banner) == version
