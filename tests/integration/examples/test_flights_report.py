"""The files of the flights report: summaries, the picture, the unpacked source."""

import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from flights import picture, report, source
from flights.report import Summary

FIRST = Summary(
    day="2013-01-01",
    flights=842,
    cancelled=4,
    diverted=7,
    carriers=14,
    airports=90,
    mean_dep_delay=11.55,
    mean_arr_delay=12.65,
    with_weather=803,
    with_plane=696,
)
PNG = b"\x89PNG\r\n\x1a\n"


def day(number: int) -> Summary:
    return replace(FIRST, day=f"2013-01-{number:02}", flights=800 + number)


def write(root: Path, summary: Summary) -> None:
    report.write_summary(summary, root / "summary" / f"day={summary.day}.json")


def test_summaries_are_read_back_in_the_order_of_days(tmp_path: Path) -> None:
    for number in (11, 2, 7):
        write(tmp_path, day(number))

    assert report.read_summaries(tmp_path) == [day(2), day(7), day(11)]


def test_a_summary_replaces_the_one_before_and_leaves_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, day(1))
    write(tmp_path, replace(day(1), cancelled=5))

    assert [found.cancelled for found in report.read_summaries(tmp_path)] == [5]
    assert [path.name for path in (tmp_path / "summary").iterdir()] == ["day=2013-01-01.json"]


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("before")

    def fail(scratch: Path) -> None:
        scratch.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        report.replace(file, fail)

    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("days", [0, 1, 7, 31])
def test_any_number_of_days_can_be_drawn(tmp_path: Path, days: int) -> None:
    file = tmp_path / "report.png"

    picture.draw([day(number + 1) for number in range(days)], file)

    assert file.read_bytes().startswith(PNG)


def test_a_day_without_delays_can_be_drawn(tmp_path: Path) -> None:
    quiet = replace(day(2), mean_dep_delay=None, mean_arr_delay=None)

    picture.draw([day(1), quiet], tmp_path / "report.png")

    assert (tmp_path / "report.png").exists()


def test_equal_days_give_an_equal_picture(tmp_path: Path) -> None:
    for name in ("one.png", "two.png"):
        picture.draw([day(1), day(2)], tmp_path / name)

    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_a_day_that_comes_while_the_picture_is_drawn_is_on_it(tmp_path: Path) -> None:
    drawn: list[list[str]] = []

    def draw(days: Sequence[Summary], path: Path) -> None:
        if not drawn:
            write(tmp_path, day(2))
        drawn.append([summary.day for summary in days])
        path.write_bytes(PNG)

    write(tmp_path, day(1))
    report.redraw(tmp_path, draw)

    assert drawn == [["2013-01-01"], ["2013-01-01", "2013-01-02"]]


def test_the_source_is_unpacked_once_by_tasks_that_race(tmp_path: Path) -> None:
    archive = tmp_path / "numbers.csv.zip"
    text = "number\n" + "\n".join(map(str, range(200_000)))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("numbers.csv", text)
    folder = tmp_path / "source"

    with ThreadPoolExecutor(8) as pool:
        files = set(pool.map(lambda _: source.unpack(archive, folder), range(8)))

    assert [file.read_text() for file in files] == [text]
    assert list(folder.iterdir()) == [folder / "numbers.csv"]


def test_a_damaged_archive_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    archive = tmp_path / "numbers.csv.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as zipped:
        zipped.writestr("numbers.csv", "1\n" * 200_000)
    archive.write_bytes(archive.read_bytes().replace(b"1\n1", b"1\n2", 1))
    folder = tmp_path / "source"

    with pytest.raises(zipfile.BadZipFile, match="CRC"):
        source.unpack(archive, folder)

    assert list(folder.iterdir()) == []


def test_what_is_unpacked_is_not_unpacked_again(tmp_path: Path) -> None:
    (tmp_path / "numbers.csv").write_text("kept")

    assert source.unpack(tmp_path / "numbers.csv.zip", tmp_path).read_text() == "kept"


def test_the_source_is_found_without_importing_its_package() -> None:
    assert (source.data_folder() / "flights.csv.zip").is_file()


def test_a_missing_package_is_told() -> None:
    with pytest.raises(FileNotFoundError, match=r"nycflights14 is not installed; run `pip"):
        source.data_folder("nycflights14")
