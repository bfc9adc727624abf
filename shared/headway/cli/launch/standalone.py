"""`headway standalone`: everything on one machine, until Ctrl-C."""

import sys
from pathlib import Path

from headway.cli.input import interrupts
from headway.cli.launch import api_address, stack
from headway.cli.launch.api_address import ApiAddress
from headway.domain.errors import SettingsError
from headway.runtime.settings import configuration


def run(dags: Path, schedulers: int, port: int | None, front: stack.Front = stack.nothing) -> int:
    """Run until interrupted; return the exit status."""
    if not dags.is_dir():
        raise SettingsError(
            f"There is no DAGs folder {dags.absolute()}; create it, or name another with --dags."
        )
    home = configuration.home()
    with (
        interrupts.ending_well(),
        api_address.claimed() as api,
        stack.running(home, dags, schedulers, port, front, api) as services,
    ):
        print(f"Headway runs the DAGs in {dags.absolute()}.")
        print(f"State: {home}   service logs: {home / 'services'}")
        print(_about(api, services.link))
        print("In another terminal, here: `headway dags list`.  Ctrl-C stops everything.")
        sys.stdout.flush()
        stack.wait_for_interrupt(services)
    print("Stopped.")
    return 0


def _about(api: ApiAddress | None, link: str | None) -> str:
    if api is None:
        return "The API is not installed; `pip install 'headway[api]'` installs it."
    about = f"API: {api.url}   a token for it: `headway tokens create admin NAME`"
    if link is None:
        return about
    return f"{about}\nSign in, once and within five minutes: {api.url}{link}"
