"""The program `kubectl-headway`, which kubectl finds on PATH as `kubectl headway`."""

import sys
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer

from headway.cli.commands.installation import status
from headway.cli.input.values import Reason
from headway.cli.screen import errors
from headway.cli.screen.errors import ExitStatus
from headway.cli.screen.output import Format, Output, show, tell
from headway.kubectl import drain as draining
from headway.kubectl import logs as log_reading
from headway.kubectl import release as releases
from headway.kubectl.kubectl import FailedInPodError, Kubectl
from headway.kubectl.release import Release
from headway.runtime.daemon.clock import SystemClock

PASSING: Final = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""For commands whose arguments are those of the command in the pod, also --help."""

PODS: Final = ("name", "phase", "ready", "restarts", "node")
DEPLOYMENTS: Final = ("name", "wanted", "ready")

app = typer.Typer(
    name="kubectl headway",
    help="Ask and operate a release of Headway on Kubernetes. "
    "Write common options before the command.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def options(
    context: typer.Context,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", help="The namespace; default: the context's namespace."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--context", help="A context of kubectl; default: the current context."),
    ] = None,
    release: Annotated[
        str | None, typer.Option(help="The release; default: the only one in the namespace.")
    ] = None,
) -> None:
    """Ask and operate a release of Headway. Write common options before the command."""
    context.obj = (Kubectl(namespace, cluster), release)


@app.command("status")
def show_status(
    context: typer.Context,
    patience: status.Patience = 300.0,
    output: Output = Format.TABLE,
) -> None:
    """Show pods, services with their heartbeats, pools, lags, and what is stuck.

    The exit status is 1 if something is stuck, or not all pods are ready.
    """
    release = _release(context, "deployments,pods")
    kubernetes: dict[str, Any] = {
        "release": release.name,
        "deployments": [asdict(deployment) for deployment in release.deployments],
        "pods": [asdict(pod) for pod in release.pods],
    }
    if output is Format.TABLE:
        for heading, columns in (("deployments", DEPLOYMENTS), ("pods", PODS)):
            typer.echo(typer.style(heading.capitalize(), bold=True))
            show(kubernetes[heading], columns, output)
            print()
    [found] = release.ask("status", "--patience", str(patience))
    if output is Format.JSON:
        show([{**kubernetes, **found}], (), output)
    else:
        status.show_tables(found)
    if found["stuck"] or any(
        deployment.ready < deployment.wanted for deployment in release.deployments
    ):
        raise typer.Exit(ExitStatus.FAILED)


@app.command(context_settings=PASSING)
def why(context: typer.Context) -> None:
    """Say why a task is not running: DAG RUN TASK, and options of `headway explain`."""
    _pass(context, "explain")


@app.command(context_settings=PASSING)
def runs(context: typer.Context) -> None:
    """List DAG runs: [DAG], and options of `headway runs list`."""
    _pass(context, "runs", "list")


@app.command(context_settings=PASSING)
def doctor(context: typer.Context) -> None:
    """Examine the installation; options of `headway doctor`."""
    _pass(context, "doctor")


@app.command(context_settings=PASSING)
def pause(context: typer.Context) -> None:
    """Pause a DAG: create no more runs, and queue no more of its tasks: DAG."""
    _pass(context, "dags", "pause", changes=True)


@app.command(context_settings=PASSING)
def unpause(context: typer.Context) -> None:
    """Let a paused DAG continue: DAG."""
    _pass(context, "dags", "unpause", changes=True)


@app.command(context_settings=PASSING)
def backfill(context: typer.Context) -> None:
    """Create, list, show, watch, pause, resume or cancel backfills, as `headway backfill`."""
    changes = not {"list", "show", "watch"}.intersection(context.args[:1])
    _pass(context, "backfill", changes=changes)


@app.command()
def logs(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context,
    dag_id: str,
    run_id: str,
    task_id: str,
    map_index: Annotated[int, typer.Option(help="The instance of a mapped task.")] = -1,
    attempt: Annotated[
        int | None, typer.Option(min=1, help="The attempt's number; default: the last attempt.")
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", "-f", help="Follow the log until the task or the attempt has ended."
        ),
    ] = False,
) -> None:
    """Print the log of an attempt, from its worker's pod or from the log store."""
    release = _release(context)
    wanted = log_reading.WantedLog(dag_id, run_id, task_id, map_index, attempt)
    if follow:
        raise typer.Exit(log_reading.follow(release, wanted, (), SystemClock()))
    raise typer.Exit(log_reading.show(release, wanted, ()))


@app.command()
def drain(
    context: typer.Context,
    pod: Annotated[str, typer.Argument(help="The pod of a worker.")],
    delete: Annotated[
        bool,
        typer.Option(
            "--delete",
            help="Wait until the worker's tasks have ended, then delete the "
            "pod. Cordon the node first.",
        ),
    ] = False,
    reason: Reason = None,
    output: Output = Format.TABLE,
) -> None:
    """Have the worker in a pod take no more tasks, finish what it has, and end.

    Kubernetes then starts the container anew, unless the pod is deleted.
    """
    release = _release(context)
    workers = draining.drain(release, pod, reason)
    if delete:
        draining.finish(release, workers, SystemClock(), _told)
        release.kubectl.delete_pod(pod)
    row = {"pod": pod, "workers": workers, "deleted": delete}
    listed = ", ".join(map(str, workers))
    end = "has no tasks any more; the pod is deleted" if delete else "takes no more tasks"
    tell(f"Worker {listed} in {pod} {end}.", row, output)


def main() -> None:
    """Run the command."""
    errors.report(_run)


def _run() -> None:
    try:
        app()
    except FailedInPodError as error:
        print(error, file=sys.stderr)
        sys.exit(error.done.status or ExitStatus.FAILED)


def _release(context: typer.Context, kinds: str = "pods") -> Release:
    kubectl, wanted = context.obj
    return releases.find(kubectl, wanted, kinds)


def _pass(context: typer.Context, *command: str, changes: bool = False) -> None:
    """Run a command in a scheduler's pod with the arguments given here, and end as it does."""
    raise typer.Exit(_release(context).run(*command, *context.args, changes=changes))


def _told(left: int) -> None:
    print(f"{left} still run.", file=sys.stderr, flush=True)
