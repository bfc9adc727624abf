"""Spark as the supervisor sees it: servers, cleanup, prior applications, figures."""
