"""Calls every kernel by itself, on small, odd and large arrays, and prints a digest of the results.

`python exercise.py LIBRARY`: with the library that sanitizers look at, or with so many threads. NumPy alone is needed.
"""

import ctypes
import hashlib
import itertools
import sys

import numpy as np

NAMES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NARROW = 11  # bfloat16, as whose bits any number of 16 will do
SHAPES = [
    (1, 1, 1),
    (1, 7, 1),
    (3, 5, 2),
    (2, 64, 1),
    (5, 513, 1),
    (1, 4097, 3),
    (2, 100_003, 1),
    (3, 50, 700),
    (2, 0, 3),
]


class Caller:
    """The library, and the digest of all that its kernels have given."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.digest = hashlib.sha256()

    def __call__(self, name, plan, operands, results):
        plan = np.array(plan, np.int64)
        lists = [
            (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays]) for arrays in (operands, results)
        ]
        status = getattr(self.library, f"tangrad_{name}")(ctypes.c_void_p(plan.ctypes.data), *lists)
        assert status == 0, (name, plan)
        for result in results:
            self.digest.update(result.tobytes())


def draw(shape, dtype, seed=0):
    """Numbers of either sign, some of them equal; among floats the special ones."""
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        x = generator.normal(size=shape).round(1).astype(dtype)
        flat = x.reshape(-1)
        for place, value in zip(
            range(0, flat.size, 11), itertools.cycle([0.0, -0.0, np.inf, np.nan, -np.inf, -np.nan])
        ):
            flat[place] = value
        return x
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def running(call):
    for (number, name), shape, operation, backward in itertools.product(enumerate(NAMES), SHAPES, range(3), range(2)):
        if name[-2:] in ("32", "64"):
            x = draw(shape, name)
            call("running", [number, operation, *shape, backward], [x], [np.empty_like(x)])


def sort(call):
    for (number, name), shape in itertools.product(enumerate(NAMES), SHAPES):
        x, more = draw(shape, name), [np.arange(np.prod(shape), dtype="int32"), draw(shape, "int8")]
        for operands in ([x], [x, *more]):
            widths = [operand.itemsize for operand in operands]
            call("sort", [number, *shape, len(operands), *widths], operands, list(map(np.empty_like, operands)))


def search(call):
    """Keys at equal distances, in crowds, some of them equal, not finite; one key and none of the values' size."""
    evenly = np.linspace(-3, 3, 70)
    crowds = [evenly, evenly**9, np.r_[-np.inf, np.repeat(evenly, 9), np.inf, np.nan], np.zeros(1), np.full(3, np.nan)]
    for (number, name), keys in itertools.product(enumerate(NAMES), crowds):
        if name[-2:] in ("32", "64"):
            given = keys if name[0] == "f" else np.sort(np.nan_to_num(keys * 1e4, posinf=2e9, neginf=0) % 2**31)
            given, x = given.astype(name), draw(5003, name)
            x[: min(x.size, given.size)] = given[: x.size]
            for places, equal, count in itertools.product((4, 5), (0, 1), (5003, 100)):
                plan = [number, places, given.size, count, equal]
                call("search", plan, [given, x], [np.empty(count, NAMES[places])])


def top(call):
    for (number, name), (rows, size), k in itertools.product(
        enumerate(NAMES), [(1, 64), (3, 1001), (2, 70_000)], (1, 5, 60)
    ):
        results = [np.empty((rows, k), name), np.empty((rows, k), "int32")]
        call("top", [number, rows, size, k], [draw((rows, size), name)], results)


def lu(call):
    for (number, name), (count, rows, columns) in itertools.product(
        enumerate(NAMES[:2]), [(300, 3, 3), (5, 64, 64), (7, 9, 17), (7, 17, 9), (1, 1, 1)]
    ):
        x = draw((count, rows, columns), name)
        exchanged, order = np.empty((count, min(rows, columns)), "int32"), np.empty((count, rows), "int32")
        call("lu", [number, count, rows, columns], [x], [np.empty_like(x), exchanged, order])


def bits(call):
    for size in (1, 31, 32, 100, 100_001):
        for width in (32, 64):
            call("bits", [size, width], [np.array([7, 9], "uint32")], [np.empty(size, f"uint{width}")])
        call("normal", [size], [np.array([7, 9], "uint32")], [np.empty(size, "float32")])


def depthwise(call):
    for number, features, step in itertools.product(range(2), (8, 16, 37), (1, 2)):
        x, kernel = (draw(shape, NAMES[number]) for shape in ((3, 9, 11, features), (3, 2, features)))
        height, width = (9 - 2 * step + 1) // step + 1, 11 // step + 1
        y, sizes = draw((3, height, width, features), NAMES[number]), [number, 3, 9, 11, features]
        call("depthwise", [*sizes, height, width, 3, 2, 1, 1, step, step, step, 1], [x, kernel], [np.empty_like(y)])
        steps = [1, 1, step, 1, step, step]
        call("depthwise_gradient", [*sizes, 3, 2, height, width, *steps], [x, y], [np.empty_like(kernel)])


def chain(call):
    for number, size in itertools.product((0, 1, NARROW), (1, 15, 1024, 5001, 70_000)):
        x = draw(size, NAMES[number] if number < NARROW else "uint16")
        if number < NARROW:
            x[: size // 2] *= np.asarray(10, x.dtype) ** (np.arange(size // 2) % 38).astype(x.dtype)
        for functions in ([0], [1]) if number == 1 else ([0], [1], [0, 2, 1, 3], [3, 1, 0]):
            call("chain", [number, size, len(functions), *functions], [x], [np.empty_like(x)])


def softmax(call):
    for number, (rows, size) in itertools.product((0, NARROW), [(1, 1), (7, 16), (300, 130), (3, 9001), (0, 20)]):
        x = draw((rows, size), NAMES[number] if number < NARROW else "uint16")
        call("softmax", [number, rows, size], [x], [np.empty_like(x)])


def rows(call):
    """The variance of rows, sums of columns, and all else that is one instruction; rows longer than a block, too."""
    code = [
        (10, 4, 0, 0, 0),  # the mean, and what is left without it
        (3, 5, 4, 2, 4),
        (1, 6, 0, 5, 0),
        (2, 9, 6, 6, 6),
        (10, 8, 9, 9, 9),
        (8, 7, 6, 6, 6),
        (11, 10, 7, 7, 7),
        (12, 11, 9, 9, 9),
        (6, 12, 7, 7, 7),
        (16, 13, 6, 0, 6),  # products that are summed, or added
        (17, 14, 6, 3, 6),
        (18, 15, 6, 5, 1),
        (13, 16, 8, 8, 8),
        (14, 17, 8, 8, 8),
        (18, 18, 0, 3, 2),
    ]
    kinds = [0, 2, 3, 0, 1, 1, 0, 0, *(results := [1, 0, 1, 2, 0, 1, 2, 0, 1, 1, 0, 0])]
    for number, (height, width) in itertools.product(
        (0, 1), [(1, 2), (7, 16), (300, 130), (5, 9001), (4097, 3), (0, 9)]
    ):
        name = NAMES[number]
        operands = [
            draw((height, width), name),
            draw((width,), name, 1),
            np.array(width, name),
            draw((height, width), name),
        ]
        last = (15 if number == 0 else 9, 19, 6, 6, 6)  # softmax is of float32
        sizes = {0: (height, width), 1: height, 2: width}
        found = [np.empty(sizes[kind], name) for kind in results]
        plan = [number, height, width, 4, 4, len(results), len(code) + 1, *kinds, *itertools.chain(*code, last)]
        call("rows", plan, operands, found)
        places = np.arange(-2, height - 2, dtype="int32") * 3 % (width + 4) - 2
        for z, of_row in ((1, draw((height,), name, 4)), (3, operands[2])):  # some are no columns
            plan = [number, height, width, 2, 0, 1, 1, 1, z, 0, 20, 2, 0, 1, 0]
            call("rows", plan, [places, of_row], [np.empty((height, width), name)])
        masks = draw((height, width), name, 2) > 0.5, draw((width,), name, 3) > 0.5
        for mask, x, z in itertools.product(range(2), (2, 3), (2, 3)):  # selected of all elements, or of a number
            plan = [number, height, width, 4, 0, 1, 1, 0, 2, 0, 3, 0, 19, 4, mask, x, z]
            call("rows", plan, [*masks, operands[0], operands[2]], [np.empty((height, width), name)])


def matrices(call):
    """Two programs over the rows of each matrix, one after the other: products need a library by others."""
    for number, (many, heads, height, width) in itertools.product(
        (0, 1), [(1, 3, 5, 70), (4, 2, 33, 16), (0, 2, 3, 4)]
    ):
        name, each = NAMES[number], height * width
        x, y = draw((many, heads, height, width), name), draw((heads, many, height, width), name, 1)
        multiplied = [number, height, width, 2, 0, 1, 1, 0, 0, 0, 2, 2, 0, 1, 0]
        summed = [number, height, width, 1, 0, 1, 1, 0, 1, 10, 1, 0, 0, 0]
        apart = [heads * each, each, each, many * each, heads * height, height]
        apart = [stride * x.itemsize for stride in apart]
        steps = [1, 2, 1, 0, 1, 2, len(multiplied), *multiplied, 1, 1, 1, 2, 3, len(summed), *summed]
        plan = [number, 2, 2, 1, 1, 2, many, heads, *apart, each, *steps]
        call("matrices", plan, [x, y], [np.empty((many, heads, height), name)])


def tiles(call):
    shapes = [(1, 1, 1), (2, 3, 70), (1, 129, 8), (3, 128, 128), (1, 300, 277), (1, 17, 1), (0, 3, 4), (2, 0, 3)]
    for number, (count, height, width), operation, turned in itertools.product(range(2), shapes, (0, 1, 3, 4), (1, 2)):
        x, z = draw((count, height, width), NAMES[number]), draw((count, width, height), NAMES[number], 1)
        operands = [z, x] if turned == 1 else [x, z]
        call("tiles", [number, operation, count, height, width, turned], operands, [np.empty_like(x)])


def resample(call):
    """Weights for all elements, or one for each place; steps, phases of several numbers of terms."""
    for number, (count, length, inner, whole), all_of_them in itertools.product(
        range(2), [(1, 1, 1, 9), (5, 130, 3, 150), (2, 40, 5, 90), (3, 9, 70, 30), (2, 50, 1, 60), (0, 3, 3, 9)], (0, 1)
    ):
        terms = [(0, 1, all_of_them), (3, 1, all_of_them), (1, 1, all_of_them), (2, 1 + length % 2, 1)]
        weights = [
            draw((length, inner if has_all else 1), NAMES[number], seed) for seed, (*_, has_all) in enumerate(terms)
        ]
        x, y = draw((count, whole, inner), NAMES[number], 9), np.empty((count, length, 3, inner), NAMES[number])
        plan = [number, count, length, inner, whole, 3, 1, 2, 1, *itertools.chain(*terms)]
        call("resample", plan, [x, *weights], [y])


def places(call):
    for (number, count), size in itertools.product(itertools.product((4, 5, 8), (1, 5003, 1_100_003)), (1, 700, 5000)):
        low = 0 if NAMES[number][0] == "u" else -size - 3
        at = np.random.default_rng(0).integers(low, size + 3, count).astype(NAMES[number])
        call("count", [number, count, size, size], [at], [np.empty(size, "int32")])
        for width, element, clamp in ((4, 4, 0), (8, 8, 1), (6, 2, 0), (10, 1, 1)):
            table, out = draw(size * width, "int8"), np.empty(count * width, "int8")
            call("take", [number, count, width, element, size, size, clamp, 77], [table, at], [out])
        for (kind, name), width, one in itertools.product(enumerate(NAMES), (1, 19), (0, 1)):
            if name[-2:] in ("32", "64") and count < 10_000:
                table, rows = draw((size, width), name), draw((count, width), name, 1)
                plan = [number, count, size, size, kind, width, one]
                call("add_rows", plan, [table, at, rows], [np.empty_like(table)])


def main(path):
    call = Caller(path)
    of_rows = softmax, rows, matrices, tiles
    for exercise in (running, sort, search, top, lu, bits, depthwise, chain, *of_rows, resample, places):
        exercise(call)
    print(call.digest.hexdigest())


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main(sys.argv[1])
