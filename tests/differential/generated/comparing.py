"""Running one program on both sides and saying where they differ."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from .blocks import Sample, lines
from .making import make
from .running import Runner, arguments, outcome
from .shrinking import shrunk

# Relative to the larger of element and array scale; programs have some twenty operations, and derivatives of them.
TOLERANCES = {"float32": 2e-3, "complex64": 2e-3, "float64": 1e-8, "complex128": 1e-8}
NUDGES = {False: 3e-6, True: 1e-12}  # relative changes of the arguments that rounding may amount to

AGREE, ROUNDING, BOTH_REFUSE, MORE = "agree", "rounding", "both refuse", "only JAX refuses"


@dataclass
class Tally:
    """What came out of many programs."""

    counts: dict[str, int] = field(default_factory=dict)
    reports: list[str] = field(default_factory=list)

    def add(self, verdict: str) -> None:
        self.counts[verdict] = self.counts.get(verdict, 0) + 1


class Comparison:
    """JAX against Tangrad on one backend."""

    def __init__(self, jax: Any, tangrad: Any) -> None:
        self.jax = jax
        self.tangrad = tangrad

    def expected(self, samples: Sequence[Sample]) -> list[Any]:
        """JAX's results for each program, or what it raised. All of one precision are one compilation: that of a
        program by itself would take as long as everything else together."""
        found: dict[int, Any] = {}
        for double in (False, True):
            group = [position for position, sample in enumerate(samples) if sample.double is double]
            found.update(zip(group, self._expected_together([samples[position] for position in group]), strict=True))
        return [found[position] for position in range(len(samples))]

    def _expected_together(self, samples: Sequence[Sample]) -> list[Any]:
        if not samples:
            return []
        refused: dict[int, Exception] = {}

        def every(args: Any) -> list[Any]:
            outs: list[Any] = []
            for position, sample in enumerate(samples):
                try:
                    outs.append(Runner(self.jax, sample.double).function(sample.block)(*args[position]))
                except Exception as error:
                    refused[position] = error
                    outs.append(())
            return outs

        with self.jax.enable_x64(samples[0].double):
            arrays = [[self.jax.numpy.asarray(arg) for arg in arguments(sample)] for sample in samples]
            try:
                results = self.jax.jit(every)(arrays)
            except Exception as error:
                if len(samples) == 1:
                    return [error]
                return [self._expected_together([sample])[0] for sample in samples]
        return [refused.get(position) or [numpy.asarray(out) for out in outs] for position, outs in enumerate(results)]

    def found(self, sample: Sample, args: Sequence[numpy.ndarray], backend: str, jitted: bool) -> list[numpy.ndarray]:
        with contextlib.ExitStack() as settings:
            settings.enter_context(self.tangrad.use_backend(backend))
            settings.enter_context(self.tangrad.enable_x64(sample.double))
            settings.enter_context(numpy.errstate(all="ignore"))
            return outcome(self.tangrad, sample, args, jitted)

    def verdicts(
        self, sample: Sample, runs: Sequence[tuple[str, bool]], expected: Any = None
    ) -> list[tuple[str, bool, str]]:
        """For each run (a backend, and whether jitted) what came out; a text for a difference."""
        if expected is None:
            (expected,) = self.expected([sample])
        args = arguments(sample)
        return [(backend, jitted, self.verdict(sample, args, expected, backend, jitted)) for backend, jitted in runs]

    def verdict(self, sample: Sample, args: Any, expected: Any, backend: str, jitted: bool) -> str:
        try:
            got = self.found(sample, args, backend, jitted)
        except Exception as error:
            if isinstance(expected, Exception):
                return BOTH_REFUSE
            return f"raises {type(error).__name__}: {str(error)[:300]}"
        if isinstance(expected, Exception):
            return MORE
        text = difference(got, expected)
        if text is not None and self.is_rounding(sample, args, got, expected):
            return ROUNDING
        return AGREE if text is None else text

    def is_rounding(self, sample: Sample, args: Any, got: Any, expected: Any) -> bool:
        """Whether JAX's own results move as far when its arguments move by a rounding: they are ill-conditioned."""
        if [(g.shape, g.dtype) for g in got] != [(e.shape, e.dtype) for e in expected]:
            return False
        random = numpy.random.default_rng([sample.seed, 2])
        moved = [numpy.zeros(e.shape, bool) for e in expected]
        with self.jax.enable_x64(sample.double), numpy.errstate(all="ignore"):
            function = self.jax.jit(Runner(self.jax, sample.double).function(sample.block))
            for _ in range(4):
                others = function(*[self.jax.numpy.asarray(_nudged(arg, sample.double, random)) for arg in args])
                for position, (other, e, g) in enumerate(zip(map(numpy.asarray, others), expected, got)):
                    far = numpy.abs(_wide(other) - _wide(e)) * 20 >= numpy.abs(_wide(g) - _wide(e))
                    moved[position] |= far | (numpy.isnan(_wide(other)) != numpy.isnan(_wide(e)))
        return all(bool(numpy.all(close(g, e) | m)) for g, e, m in zip(got, expected, moved))

    def differs(self, backend: str, jitted: bool) -> Any:
        def test(sample: Sample) -> bool:
            ((_, _, verdict),) = self.verdicts(sample, [(backend, jitted)])
            return verdict not in (AGREE, ROUNDING, BOTH_REFUSE, MORE)

        return test


def _nudged(arg: numpy.ndarray, double: bool, random: numpy.random.Generator) -> numpy.ndarray:
    if arg.dtype.kind not in "fc":
        return arg
    return (arg * (1 + NUDGES[double] * random.standard_normal(arg.shape))).astype(arg.dtype)


def _wide(value: numpy.ndarray) -> numpy.ndarray:
    return value.astype(numpy.complex128 if value.dtype.kind == "c" else numpy.float64)


def close(got: numpy.ndarray, expected: numpy.ndarray) -> numpy.ndarray:
    """Where two arrays of one shape agree."""
    tolerance = TOLERANCES.get(expected.dtype.name)
    if tolerance is None:
        return got == expected
    one, other = _wide(got), _wide(expected)
    finite = numpy.abs(other[numpy.isfinite(other)])
    scale = max(float(finite.max()) if finite.size else 1.0, 1e-3)
    return numpy.isclose(one, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def difference(got: Sequence[numpy.ndarray], expected: Sequence[numpy.ndarray]) -> str | None:
    """The first difference in words, or None."""
    for position, (one, other) in enumerate(zip(got, expected, strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"result {position} is {one.dtype}{list(one.shape)}, expected {other.dtype}{list(other.shape)}"
        if not numpy.all(close(one, other)):
            return f"result {position} is\n{one}\nexpected\n{other}"
    return None


def sweep(comparison: Comparison, seeds: Sequence[int], every: int, together: int = 25) -> Tally:
    """Many programs: each on NumPy eagerly and jitted, each `every`-th jitted on XLA too. Differences are shrunk."""
    tally = Tally()
    for start in range(0, len(seeds), together):
        samples = [make(seed) for seed in seeds[start : start + together]]
        for sample, expected in zip(samples, comparison.expected(samples), strict=True):
            runs = [("numpy", False), ("numpy", True)] + ([("xla", True)] if every and sample.seed % every == 0 else [])
            for backend, jitted, verdict in comparison.verdicts(sample, runs, expected):
                known = verdict in (AGREE, ROUNDING, BOTH_REFUSE, MORE)
                tally.add(verdict if known else "different")
                if not known:
                    tally.reports.append(report(comparison, sample, backend, jitted, verdict))
    return tally


def report(comparison: Comparison, sample: Sample, backend: str, jitted: bool, verdict: str) -> str:
    """A difference with its seed and a smallest program."""
    small = shrunk(sample, comparison.differs(backend, jitted))
    ((_, _, now),) = comparison.verdicts(small, [(backend, jitted)])
    how = f"seed {sample.seed}, {backend}, {'jitted' if jitted else 'eager'}, {'64' if sample.double else '32'} bits"
    return "\n".join([how, verdict, f"smallest ({small.block.size()} steps): {now}", *lines(small.block)])
