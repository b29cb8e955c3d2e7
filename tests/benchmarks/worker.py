"""One side's process: reads requests (a JSON object a line) from standard input, answers on what was standard output.

    {"do": "sample", "program": NAME, "seconds": S, "clock": C}  ->  {"seconds": best seconds of one call}
    {"do": "equations", "program": NAME}  ->  {"equations": number}
    {"do": "compilations", "program": NAME}  ->  {"compilations": programs compiled by one call}
    {"do": "hlo", "program": NAME}  ->  {"hlo": normalised optimised HLO}
    {"do": "profile", "program": NAME}  ->  {"profile": text}

A request that fails is answered with {"error": text}; the process lives on for the next.
"""

import cProfile
import io
import json
import os
import pstats
import sys
import traceback
from typing import Any

from .hlo import normalised
from .measure import Case, best_call_seconds, calls_in_a_loop, compilations_of_a_call, loop_seconds
from .programs import program_table
from .sides import SIDES, Side

PROFILE_SECONDS = 1.0
PROFILE_LINES = 45


class Worker:
    """Holds the cases of one side, made at first request, and answers requests."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.makers = program_table()
        self.cases: dict[str, tuple[Case, int]] = {}

    def case(self, program: str) -> tuple[Case, int]:
        """The program's case, warmed up, and the calls that fill one loop."""
        if program not in self.cases:
            case = self.makers[program](self.side)
            self.cases[program] = case, calls_in_a_loop(case)
        return self.cases[program]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what the request asks."""
        case, count = self.case(request["program"])
        match request["do"]:
            case "sample":
                return {"seconds": best_call_seconds(case, count, request["seconds"], request["clock"])}
            case "equations":
                return {"equations": case.equations() if case.equations else 1}
            case "compilations":
                return {"compilations": compilations_of_a_call(case)}
            case "hlo":
                return {"hlo": normalised(case.hlo()) if case.hlo else ""}
            case "profile":
                return {"profile": profile_text(case, count)}
            case other:
                raise ValueError(f"unknown request {other!r}")


def profile_text(case: Case, count: int) -> str:
    """cProfile of about a second of calls, by the time spent in each function itself."""
    per_loop = loop_seconds(case, count)
    loops = max(1, round(PROFILE_SECONDS / max(per_loop, 1e-6)))
    profiler = cProfile.Profile()
    for _ in range(loops):
        functions = [case.fresh() for _ in range(count)] if case.fresh else None
        profiler.enable()
        if functions is None:
            for _ in range(count):
                case.call()
        else:
            for function in functions:
                case.call(function)
        profiler.disable()
    text = io.StringIO()
    text.write(f"{loops * count} calls\n")
    pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(PROFILE_LINES)
    return text.getvalue()


def error_text(error: BaseException) -> str:
    """The error's kind and first line, and where it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}{where}"


def main(side_name: str) -> None:
    """Answer requests until standard input ends. What programs print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker(SIDES[side_name])
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:
            traceback.print_exc()
            answer = {"error": error_text(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
