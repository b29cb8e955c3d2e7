"""The program that docs/several-processes.md shows, in one of two processes.

Arguments: the address of process 0, the number of processes, the number of this one.
"""

import os
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "several-processes.md"


def program() -> str:
    """The code block that starts with imports."""
    (found,) = re.findall(r"^```text\n(import numpy\n.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return found


if __name__ == "__main__":
    address, count, number = sys.argv[1:]
    os.environ |= {"TANGRAD_COORDINATOR_ADDRESS": address, "TANGRAD_NUM_PROCESSES": count}
    os.environ |= {"TANGRAD_PROCESS_ID": number, "TANGRAD_NUM_CPU_DEVICES": "2"}
    exec(compile(program(), str(PAGE), "exec"), {"__name__": "__main__"})
