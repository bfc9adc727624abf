import os
import signal

from headway.runtime.processes.parent_death import dies_with_parent


def test_the_command_follows_the_options_untouched() -> None:
    line = dies_with_parent(["spark", "--signal", "x", "--", "y"])

    assert line[line.index("--") + 1 :] == ["spark", "--signal", "x", "--", "y"]


def test_this_process_is_named_as_the_parent() -> None:
    line = dies_with_parent(["true"], on_death=signal.SIGKILL, user="nobody")

    options = line[line.index("--parent") : line.index("--")]
    assert options == ["--parent", str(os.getpid()), "--signal", "KILL", "--user", "nobody"]
