"""The names of the login roles, for whoever starts services without talking to the database."""

from enum import StrEnum


class Login(StrEnum):
    """The roles, by the part of Headway that logs in as each."""

    PARSER = "headway_parser"
    SCHEDULER = "headway_scheduler"
    WORKER = "headway_worker"
    USER = "headway_user"
    API = "headway_api"
    READONLY = "headway_readonly"
