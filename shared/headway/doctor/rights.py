"""Checks of rights that a migration could not take, as only a superuser may revoke them."""

from typing import Final

from headway.doctor.finding import DatabaseCheck

CHECKS: Final[tuple[DatabaseCheck, ...]] = ()
