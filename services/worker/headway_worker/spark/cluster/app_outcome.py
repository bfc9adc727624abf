"""What became of an application on a cluster: what its tools tell, and what follows.  Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from headway.domain.spark_work import Handle
from headway.domain.states import Outcome

_STATE: Final = re.compile(r"^\s*State : (\w+)", re.MULTILINE)
_FINAL_STATE: Final = re.compile(r"^\s*Final-State : (\w+)", re.MULTILINE)
_DIAGNOSTICS: Final = re.compile(r"^\s*Diagnostics : *(.*)", re.MULTILINE)
_LISTED: Final = re.compile(r"^\s*(application_\d+_\d+)\b", re.MULTILINE)
_PHASE: Final = re.compile(r"^\s*phase: *(\w+)", re.MULTILINE)
_REASON: Final = re.compile(r"^\s*(?:termination reason|exit code): *(.*)", re.MULTILINE)


class AppOutcome(StrEnum):
    """What became of an application.  `absent` is that the cluster knows of none."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ABSENT = "absent"
    UNKNOWN = "unknown"


ENDED: Final = frozenset({AppOutcome.SUCCEEDED, AppOutcome.FAILED, AppOutcome.ABSENT})


@dataclass(frozen=True, slots=True)
class AppReport:
    """What a cluster tells of an application, with its own words on why."""

    outcome: AppOutcome
    why: str = ""


@dataclass(frozen=True, slots=True)
class PriorApp:
    """The handle of an earlier attempt in cluster mode, and how that attempt ended.

    `cancelled` is also one that a user has stopped or cleared, whatever came of it.
    """

    handle: Handle
    outcome: Outcome | None

    @property
    def refused(self) -> bool:
        """Whether that attempt asked its user to look, so that the next one goes ahead."""
        return "refused" in self.handle

    @property
    def stopped(self) -> bool:
        """Whether that attempt had to stop, and with it the application."""
        return self.outcome in (Outcome.CANCELLED, Outcome.TIMED_OUT)

    @property
    def submitted(self) -> bool:
        """Whether the application had certainly arrived at the cluster."""
        return "submitted" in self.handle or "application_id" in self.handle


class Step(StrEnum):
    """What a new attempt does first about the application of an earlier one."""

    SUBMIT = "submit"
    ATTACH = "attach"
    TAKE = "take"
    KILL = "kill"
    REFUSE = "refuse"


def first_step(prior: PriorApp, outcome: AppOutcome) -> Step | None:
    """Return what to do about an earlier attempt's application; None is to ask again later.

    One that nobody has told to stop goes on, and its success counts.  After a time-out, or a
    stop or a clear by a user, it must have ended; what it then was counts only after a time-out.
    """
    match outcome:
        case AppOutcome.UNKNOWN:
            return None
        case AppOutcome.RUNNING:
            return Step.KILL if prior.stopped else Step.ATTACH
        case AppOutcome.SUCCEEDED:
            return Step.SUBMIT if prior.outcome is Outcome.CANCELLED else Step.TAKE
        case AppOutcome.ABSENT if prior.submitted and not prior.stopped:
            return Step.REFUSE
    return Step.SUBMIT


def yarn_report(output: str) -> AppReport:
    """Read what `yarn application -status` prints."""
    state, final = _STATE.search(output), _FINAL_STATE.search(output)
    if state is None or final is None:
        known = "doesn't exist in RM" not in output
        return AppReport(AppOutcome.UNKNOWN if known else AppOutcome.ABSENT, _last_line(output))
    why = _DIAGNOSTICS.search(output)
    if state[1] in ("FAILED", "KILLED"):
        outcome = AppOutcome.FAILED
    elif state[1] != "FINISHED":
        outcome = AppOutcome.RUNNING
    else:
        outcome = AppOutcome.SUCCEEDED if final[1] == "SUCCEEDED" else AppOutcome.FAILED
    return AppReport(outcome, f"{state[1]}, {final[1]}. {why[1] if why else ''}".strip())


def yarn_list(output: str) -> tuple[str, ...] | None:
    """Return the applications that `yarn application -list` prints; None if it is no list."""
    return tuple(_LISTED.findall(output)) if "Total number of applications" in output else None


def kubernetes_status(output: str) -> AppReport:
    """Read what `spark-submit --status` prints of a driver's pod."""
    phase = _PHASE.search(output)
    if phase is None:
        gone = "Application not found." in output or "No applications found." in output
        return AppReport(AppOutcome.ABSENT if gone else AppOutcome.UNKNOWN, _last_line(output))
    phases: Mapping[str, AppOutcome] = {
        "Pending": AppOutcome.RUNNING,
        "Running": AppOutcome.RUNNING,
        "Succeeded": AppOutcome.SUCCEEDED,
        "Failed": AppOutcome.FAILED,
    }
    reasons = " ".join(_REASON.findall(output))
    return AppReport(phases.get(phase[1], AppOutcome.UNKNOWN), f"{phase[1]}. {reasons}".strip())


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"
