from headway_parser.parse.bundle_imports import BundleImports


def noted(*files: tuple[str, set[str], float]) -> BundleImports:
    imports = BundleImports()
    for path, names, at in files:
        imports.note(path, frozenset(names), (), at)
    return imports


def test_what_any_file_imports_is_wanted_in_one_order() -> None:
    imports = noted(("a.py", {"pandas", "boto3"}, 1.0), ("b.py", {"acme", "pandas"}, 2.0))

    assert imports.wanted(0.0) == ("acme", "boto3", "pandas")
    assert imports.of("a.py") == frozenset({"pandas", "boto3"})
    assert imports.of("c.py") is None


def test_what_is_refused_is_not_wanted() -> None:
    imports = noted(("a.py", {"pandas", "boto3"}, 1.0))
    imports.refused.add("pandas")

    assert imports.wanted(0.0) == ("boto3",)


def test_a_file_that_was_parsed_long_ago_counts_no_more() -> None:
    imports = noted(("a.py", {"boto3"}, 1.0), ("b.py", {"acme"}, 2.0))

    assert imports.wanted(1.5) == ("acme",)
    assert imports.of("a.py") is None


def test_of_what_is_preloaded_only_that_counts_which_a_file_was_seen_to_import() -> None:
    imports = noted(("a.py", {"boto3"}, 1.0))

    imports.note("a.py", frozenset({"boto3", "pandas", "acme"}), {"boto3", "pandas"}, 2.0)
    imports.note("new.py", frozenset({"boto3"}), {"boto3", "pandas"}, 2.0)

    assert imports.of("a.py") == frozenset({"boto3", "acme"})
    assert imports.of("new.py") == frozenset({"boto3"})
