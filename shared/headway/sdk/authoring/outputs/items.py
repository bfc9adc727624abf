"""The items of task outputs that a mapped task is expanded over: how many there are, and one."""

from headway.domain.dag.mapping import combined_length
from headway.domain.dag.spec import Combined, MapInput
from headway.domain.errors import DagError
from headway.sdk.authoring.outputs.combined import CombinedArg, ConcatArg, MapArg, ZipArg
from headway.sdk.authoring.xcom_arg import XComArg
from headway.sdk.running.task_runtime import TaskRuntime
from headway.sdk.xcoms.codec import decode_item


def input_of(argument: str, output: XComArg) -> MapInput:
    """Return an output as what decides how many instances there are."""
    if isinstance(output, CombinedArg):
        parts = tuple(input_of(argument, part) for part in output.parts)
        return MapInput(argument=argument, combined=output.combined, parts=parts)
    return MapInput(argument=argument, task_id=output.operator.task_id, key=output.key)


def length(output: XComArg, runtime: TaskRuntime) -> int:
    """Return how many items an output has."""
    if isinstance(output, CombinedArg):
        return combined_length(output.combined, [length(part, runtime) for part in output.parts])
    return runtime.xcom_length(output.operator.task_id, output.key)


def item(output: XComArg, index: int, runtime: TaskRuntime) -> object:
    """Return one item of an output; no others are fetched."""
    match output:
        case MapArg():
            return output.applied(item(output.parts[0], index, runtime))
        case ZipArg():
            return tuple(_filled(output, part, index, runtime) for part in output.parts)
        case ConcatArg():
            return _following(output, index, runtime)
        case _:
            stored = runtime.xcom_item(output.operator.task_id, output.key, index)
            return decode_item(stored, f"{named(output)}[{index}]")


def named(output: XComArg) -> str:
    """Return how messages name the output of a task."""
    return f"The XCom {output.key!r} of task {output.operator.task_id!r}"


def _filled(zipped: ZipArg, part: XComArg, index: int, runtime: TaskRuntime) -> object:
    if zipped.combined is Combined.ZIP_LONGEST and index >= length(part, runtime):
        return zipped.fillvalue
    return item(part, index, runtime)


def _following(output: ConcatArg, index: int, runtime: TaskRuntime) -> object:
    left = index
    for part in output.parts:
        its = length(part, runtime)
        if left < its:
            return item(part, left, runtime)
        left -= its
    raise DagError(
        f"There is no item {index} any more: {output!r} has {index - left} by now. Clear the "
        "mapped task as a whole."
    )
