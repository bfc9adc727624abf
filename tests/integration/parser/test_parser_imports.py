"""What a parser imports, and when."""

import json
import subprocess
import sys


def imported_by(module: str) -> set[str]:
    program = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_the_fork_server_is_begun_with_before_most_modules_are_read() -> None:
    modules = imported_by("headway_parser.command")

    assert "headway_parser.parse.fork_server" in modules
    assert modules & {"sqlalchemy", "psycopg2", "headway.db", "headway_parser.serving"} == set()


def test_a_parser_does_not_read_what_only_its_children_run() -> None:
    modules = imported_by("headway_parser.serving")

    assert "headway_parser.manager" in modules
    assert (
        modules & {"headway_parser.child.parse_file", "jinja2", "pendulum", "prometheus_client"}
        == set()
    )
