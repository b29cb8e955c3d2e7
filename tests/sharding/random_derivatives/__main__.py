"""`python -m tests.sharding.random_derivatives FIRST COUNT [MAP ...]`: compare cases of seeds; print what differs.

Four devices are needed: `TANGRAD_NUM_CPU_DEVICES=4`.
"""

import sys

from tests.sharding.random_derivatives.comparing import MAPS, sweep


def main(first: int, count: int, maps: list[str]) -> int:
    tally = sweep(range(first, first + count), maps or tuple(MAPS), report=lambda text: print(text, flush=True))
    print(f"{tally.compared} compared, {tally.beyond} out of bounds, {len(tally.wrong)} wrong")
    return bool(tally.wrong)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
