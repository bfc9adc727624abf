"""A Spark session of one thread, for the tasks of the flights example."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from headway.embedded.java import find_java_home


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    java_home = find_java_home(None, os.environ, tmp_path_factory.mktemp("java"))
    options = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.session.timeZone": "Asia/Kolkata",  # must not matter
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAVA_HOME", str(java_home))
        session = SparkSession.builder.master("local[1]").config(map=options).getOrCreate()
    yield session
    session.stop()
