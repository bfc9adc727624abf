"""Sample small changes of the code, and see whether the tests that mirror it fail.

    make mutants NAME=decide N=60 SEED=1
    python -m tests.mutants --name timetables --number 60 --seed 1

Each mutant is made in a copy of the checkout, which itself is never changed.  What survives is
printed as a diff: a test is missing, or the change means nothing.
"""

import sys
from argparse import ArgumentParser
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.mutants.change import Mutant
from tests.mutants.python import Source
from tests.mutants.targets import TARGETS, Target, mirrors, sources
from tests.mutants.trial import Copy, Verdict

CHECKOUT = Path(__file__).parents[2]


def main() -> int:
    """Judge a sample; exit with 1 if the tests fail before anything is changed."""
    parser = ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--name", choices=TARGETS, default="decide")
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trust", action="store_true", help="the tests are known to pass")
    asked = parser.parse_args()
    target = TARGETS[asked.name]
    with TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy.of(CHECKOUT, Path(folder))
        sample = sampled(copy.root, target, asked.number, asked.seed)
        if not asked.trust and not _passes(copy, target, sample):
            return 1
        survived = _judge(copy, target, sample)
    caught = len(sample) - survived
    print(f"mutants={len(sample)} caught={caught} survived={survived} seed={asked.seed}")
    return 0


def sampled(root: Path, target: Target, number: int, seed: int) -> list[Mutant]:
    """Return so many mutants of a target; a seed has the same ones again."""
    every = [
        Mutant(path, change)
        for path in sources(root, target)
        for change in Source((root / path).read_text()).changes()
    ]
    return Random(seed).sample(every, min(number, len(every)))


def _passes(copy: Copy, target: Target, sample: list[Mutant]) -> bool:
    """Whether the tests pass as they are; else nothing could be said of any mutant."""
    found = (mirrors(copy.root, target, mutant.path) for mutant in sample)
    every = sorted({path for near, others in found for path in (*near, *others)})
    status = copy.run(every, 10 * target.seconds)
    if status != 0:
        print(f"The tests fail without any mutant (status {status}): {' '.join(map(str, every))}")
    return status == 0


def _judge(copy: Copy, target: Target, sample: list[Mutant]) -> int:
    """Judge each mutant, print what becomes of it; return how many survive."""
    survived = 0
    for number, mutant in enumerate(sample, 1):
        text = (copy.root / mutant.path).read_text()
        verdict = copy.judge(mutant, mirrors(copy.root, target, mutant.path), target.seconds)
        where = f"{mutant.path}:{mutant.line(text)}"
        print(f"{number}/{len(sample)} {where}: {verdict}", flush=True)
        if verdict is Verdict.SURVIVED:
            survived += 1
            print(mutant.diff(text), flush=True)
    return survived


if __name__ == "__main__":
    sys.exit(main())
