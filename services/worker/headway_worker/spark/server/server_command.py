"""The command line, the environment and the logging of a Spark Connect server."""

from typing import TYPE_CHECKING, Final

from headway_worker.spark.target.authentication import authenticated
from headway_worker.spark.target.installation import driver_environment, spark_home

if TYPE_CHECKING:
    from headway_worker.spark.server.connect_server import ServerSettings

_CLASS: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"

# By itself Spark says several lines of each job, for as long as the server lives.
LOGGING: Final = f"""\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{yy/MM/dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
logger.server.name = {_CLASS}
logger.server.level = info
"""


def server_environment(settings: "ServerSettings") -> dict[str, str]:
    """Return the environment of a server, but for the token."""
    # Client and server must be of one version, so the server is always pyspark's own.
    own = {"SPARK_HOME": str(spark_home())}
    if settings.master.startswith("local"):  # the executors of a cluster must reach the driver
        own["SPARK_LOCAL_IP"] = "127.0.0.1"
    return {**driver_environment(settings.java_home, settings.environment), **own}


def server_command(settings: "ServerSettings") -> list[str]:
    """Return the command line of a server; it holds no secret."""
    scratch = settings.scratch
    # A server that is out of memory would go on, and fail its jobs in odd ways.
    options = ["-XX:+ExitOnOutOfMemoryError", "-Djava.io.tmpdir=" + str(scratch / "tmp")]
    options += ["-Dlog4j2.configurationFile=" + settings.logging.as_uri()]
    # With one compiler only Java reserves a fifth of it; hundreds of sessions fill that, and fail.
    options += ["-XX:ReservedCodeCacheSize=240m"]
    options += settings.java_options
    conf = {
        "spark.connect.progress.reportInterval": "200ms",
        "spark.driver.defaultJavaOptions": " ".join(f'"{option}"' for option in options),
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **settings.conf,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        # The server chooses a free port and logs it: one chosen here could be lost to another.
        "spark.connect.grpc.binding.port": "0",
    }
    command = [str(spark_home() / "bin" / "spark-submit"), "--class", _CLASS]
    command += ["--name", "headway", "--master", settings.master]
    command += ["--driver-memory", settings.driver_memory]
    for key, value in authenticated(conf, (), settings.master).items():
        command += ["--conf", f"{key}={value}"]
    return command
