"""Daemons keep their secrets from others of the same user."""

from headway.db.access import registration
from headway.runtime.daemon.bell import Bell
from headway.runtime.processes.linux import become_dumpable, is_dumpable


def test_a_registered_daemon_is_undumpable(database_url: str) -> None:
    become_dumpable()
    try:
        with registration.registered("scheduler", database_url, Bell()):
            assert not is_dumpable()
    finally:
        become_dumpable()
