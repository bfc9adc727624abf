"""What a file has read of connections and variables, beside what its child says of that."""

from dataclasses import replace

from headway_parser.parse.answer import ParsedFile
from headway_parser.secrets.questions import SecretQuestions


def with_secrets(parsed: ParsedFile, questions: SecretQuestions | None) -> ParsedFile:
    """Return a result with what was read by these questions, and with no secret in its texts.

    Its DAGs may name what was read, and nothing else: by these names tasks may read when they
    load the file.
    """
    read = set() if questions is None else {f"{it.kind}:{it.name}" for it in questions.states}
    for version in parsed.versions:
        if not read.issuperset(version.spec.parse_secrets):
            parsed = ParsedFile(
                error=f"What the file left behind cannot be used: its DAG {version.spec.dag_id} "
                "names connections or variables that the file has not read."
            )
            break
    if questions is None:
        return parsed
    return replace(
        parsed,
        error=None if parsed.error is None else questions.mask(parsed.error),
        secrets=questions.dependencies,
        mask=questions.mask,
    )
