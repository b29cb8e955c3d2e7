"""Products of several matrices, and what is computed of them, as one call of the kernel `matrices`.

Attention is such a program: scores, their softmax and the product with the values, and all of the gradient, for each
matrix by itself. One after another, every step writes and reads arrays as large as the scores; matrix by matrix these
stay in the caches. What is between the products are groups of equations over rows (`row_programs`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tangrad._kernels.groups import Collection, regrouped, thinned, variables
from tangrad._kernels.jobs import ALL, LIMITS, NUMBERS, OF_COLUMN, OF_ROW, ONE, SELECT, Limits, RowPlan, is_known
from tangrad._kernels.row_programs import (
    MOST,
    MOST_OPERANDS,
    ROWS,
    Group,
    Seen,
    spread_in,
    starts_group,
    with_groups,
)
from tangrad._kernels.vendor_jobs import product, strides_of, transposed_product
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, ShapedArray, Var
from tangrad.core.tools import with_sub_jaxprs
from tangrad.extend.custom_rules import Attributes, composite_p

if TYPE_CHECKING:
    from tangrad.typing import Atom, DType

    # An operand, or a number's text, and how far its matrices are apart along each dimension.
    Place = tuple[Atom | str, tuple[int, ...]]
    Read = Atom | Place  # what a step made, or an operand
    Step = tuple[int, list[Read], list[Var], tuple[int, ...]]  # the kernel, what is read, written, the plan

MATRICES = "tangrad.matrices"  # of the composites
KERNELS = {ROWS: "rows", MATRICES: "matrices"}
PRODUCT = "contractions.dot_general"
TRANSPOSE = "structure.transpose"
CHOICE = "elementwise.select_n"

SEVERAL = 8  # matrices: fewer are the products', which have parts of one
ROOM = 1 << 24  # bytes of what is between, of one matrix
LEAST = 1 << 12  # elements of a matrix that need not go through memory


class RowsOfMatrices(Group):
    """Equations over the rows of each matrix, which may read what several have in common: masks, numbers to add.

    Attributes:
        apart: how far what is spread is apart from matrix to matrix, along each dimension of those, by operand.
    """

    def __init__(self, shape: tuple[int, ...], dtype: DType, sources: dict[Var, JaxprEqn]) -> None:
        super().__init__(shape, dtype, sources)
        self.apart: dict[Seen, tuple[int, ...]] = {}

    def instruct(self, eqn: JaxprEqn, result: Var) -> bool:
        return self._choice(eqn, result) if eqn.primitive.identity == CHOICE else super().instruct(eqn, result)

    def _choice(self, eqn: JaxprEqn, result: Var) -> bool:
        """Of two, by a mask that is not from here."""
        mask, *others = eqn.invars
        if len(others) != 2 or mask.aval.dtype != np.bool_ or result.aval.shape != self.shape:
            return False
        found = [self._mask(mask), *[self._read(atom, self.shape) for atom in reversed(others)]]
        reads = [read for read in found if read is not None]
        if len(reads) < len(found):
            return False
        self._append(SELECT, result, ALL, *map(self._operand, reads))
        self.seen[result] = result, ALL
        return True

    def _mask(self, atom: Atom) -> Seen | None:
        found = None if type(atom) is Literal else self._whole(atom)
        return found if found is not None and found[1] in (ALL, OF_COLUMN) else None

    def _kind_of_source(self, atom: Var, dimensions: Sequence[int]) -> int | None:
        """As one matrix sees it; None where it is read already, at other distances."""
        shape, last = atom.aval.shape, len(self.shape) - 1
        strides = {place: each for size, place, each in zip(shape, dimensions, strides_of(shape)) if size != 1}
        if list(strides) != sorted(strides):
            return None
        kinds = {(): ONE, (last - 1,): OF_ROW, (last,): OF_COLUMN, (last - 1, last): ALL}
        kind = kinds[tuple([place for place in strides if place >= last - 1])]
        apart = tuple([strides.get(axis, 0) for axis in range(last - 1)])
        return kind if self.apart.setdefault((atom, kind), apart) == apart else None


class Matrices(Collection):
    """Equations over several matrices that become one.

    Attributes:
        batch: the sizes of the dimensions of matrices; made: how many elements of one matrix there are of what its
            steps make, by variable.
    `sources`, `turned`: equations that spread and transpose something, by what they make; `uses`: how often it is read.
    """

    def __init__(
        self,
        batch: tuple[int, ...],
        dtype: DType,
        sources: dict[Var, JaxprEqn],
        turned: Mapping[Var, JaxprEqn],
        uses: Counter[Var],
    ) -> None:
        super().__init__()
        self.batch, self.dtype = batch, dtype
        self.made: dict[Var, int] = {}
        self.products = 0
        self._steps: list[Step] = []
        self._group: RowsOfMatrices | None = None
        self._groups: list[tuple[int, RowsOfMatrices]] = []  # where the steps of groups are, until they have plans
        self._seen: set[Atom] = set()  # variables of groups
        self._same: dict[Atom, Atom] = {}  # those that are another shape of something made, and what
        self._operands: set[Atom] = set()
        self._spread: dict[Var, JaxprEqn] = {}
        self._plans: dict[Var, tuple[int, ...]] = {}  # of products, of all matrices
        self._apart: dict[Var, tuple[int, ...]] = {}  # how far matrices are apart of results that are transposed
        self._sources, self._turned, self._uses = sources, turned, uses

    # --- what joins ------------------------------------------------------------------------------------------------

    def is_full(self) -> bool:
        return len(self.eqns) >= MOST

    def join(self, eqn: JaxprEqn) -> bool:
        """Make a step of an equation, or part of one, if it is one of those."""
        if len(eqn.outvars) != 1 or getattr(eqn.outvars[0].aval, "dtype", None) != self.dtype:
            return False
        make = {PRODUCT: self._product, TRANSPOSE: self._transpose}.get(eqn.primitive.identity, self._of_rows)
        joined = make(eqn)
        if joined:
            self.eqns.append(eqn)
        return joined

    def is_made(self, atom: Atom) -> bool:
        is_open = self._group is not None and atom in self._group.seen
        return is_open or atom in self.made or atom in self._seen

    def _held(self, atom: Atom) -> Atom:
        """The variable that has the elements of one in another shape, if it is such a one."""
        return self._same.get(atom, atom)

    def _product(self, eqn: JaxprEqn) -> bool:
        (result,), params = eqn.outvars, eqn.params
        if any([type(atom) is Literal for atom in eqn.invars]):
            return False
        batches = params["dimension_numbers"][1]
        rank = len(self.batch)
        own = [self.is_made(atom) for atom in eqn.invars]
        sizes = [tuple([atom.aval.shape[axis] for axis in axes]) for atom, axes in zip(eqn.invars, batches)]
        if set(sizes) != {self.batch}:
            return False
        if self.eqns and not any(own) and self._operands.isdisjoint(eqn.invars):
            return False
        if any([is_own and tuple(axes) != tuple(range(rank)) for is_own, axes in zip(own, batches)]):
            return False
        given = [(atom, None) if is_own else self._given(atom) for atom, is_own in zip(eqn.invars, own)]
        avals = [atom.aval for atom in eqn.invars]
        job = product(*avals, **params, x_strides=given[0][1], y_strides=given[1][1])
        if job is None and any([strides is not None for _, strides in given]):
            given = [(atom, None) for atom in eqn.invars]
            job = product(*avals, **params)
        if job is None or job.plan[1] != rank:
            return False
        if self._group is not None and not self._group.seen.keys().isdisjoint(eqn.invars):
            self._close()
        if any([is_own and self._held(atom) not in self.made for atom, is_own in zip(eqn.invars, own)]):
            return False  # numbers of rows that are spread
        plan = job.plan
        apart = [tuple(plan[11 + place :: 4]) for place in (1, 2)]
        reads: list[Read] = [
            self._held(atom) if is_own else (atom, strides) for (atom, _), is_own, strides in zip(given, own, apart)
        ]
        self._operands.update(eqn.invars)
        self._steps.append((0, reads, [result], (plan[0], 0, *plan[2:11])))
        self.made[result] = plan[2] * plan[3]
        self._plans[result] = plan
        self.products += 1
        return True

    def _transpose(self, eqn: JaxprEqn) -> bool:
        """Let a product write the transpose of its result, where nothing else reads it."""
        (x,), (result,) = eqn.invars, eqn.outvars
        place = next((place for place, step in enumerate(self._steps) if step[0] == 0 and step[2] == [x]), None)
        if type(x) is Literal or place is None or self._uses[x] > 1:
            return False
        job = transposed_product(self._plans[x], x.aval.shape, eqn.params["permutation"])
        if job is None:
            return False
        self._steps[place] = (0, self._steps[place][1], [result], (job.plan[0], 0, *job.plan[2:11]))
        self.made[result] = self.made.pop(x)
        self._apart[result] = job.plan[14::4]
        self._late.add(result)
        return True

    def _given(self, atom: Atom) -> tuple[Atom, tuple[int, ...] | None]:
        """What an operand is the transpose of, and how far the operand's elements are apart in it."""
        source = self._turned.get(atom) if type(atom) is Var else None
        if source is None:
            return atom, None
        (whole,) = source.invars
        strides = strides_of(whole.aval.shape)
        return whole, tuple([strides[axis] for axis in source.params["permutation"]])

    def _of_rows(self, eqn: JaxprEqn) -> bool:
        """Take an equation into the group over rows that is open, or begin one."""
        rank = len(self.batch)
        axes = eqn.params.get("axes")
        if (axes is not None and tuple(axes) != (rank + 1,)) or not any([self.is_made(var) for var in variables(eqn)]):
            return False
        group = self._group
        if group is not None and max(len(group.operands), len(group.eqns)) < MOST_OPERANDS and group.join(eqn):
            return True
        if not starts_group(eqn) and eqn.primitive.identity != CHOICE:
            return False
        shape = (eqn.invars[0] if axes is not None else eqn.outvars[0]).aval.shape
        if len(shape) != rank + 2 or shape[:rank] != self.batch or shape[-1] < 2:
            return False
        self._close()
        group = RowsOfMatrices(tuple(shape), self.dtype, self._sources)
        if not group.join(eqn):
            return False
        self._group = group
        return True

    def _close(self) -> None:
        """End the group over rows that is open: its results are what others may read."""
        group, self._group = self._group, None
        if group is None:
            return
        self._groups.append((len(self._steps), group))
        self._steps.append((1, [], [], ()))
        rows, columns = group.shape[-2:]
        for key, kind in group.kinds.items():
            if type(key) is not tuple:
                self.made[key] = rows * columns if kind == ALL else rows
        for var, (key, kind) in group.seen.items():
            if var not in group.kinds and prod(var.aval.shape) == self._count(group, kind):
                self._same[var] = key
        self._seen.update(group.seen)
        self._spread.update(group.sources_read)

    def _count(self, group: RowsOfMatrices, kind: int) -> int:
        return prod(group.shape) if kind == ALL else prod(group.shape[:-1])

    # --- what becomes of it ----------------------------------------------------------------------------------------

    def fused(self) -> list[JaxprEqn] | None:
        """The one equation, and behind it what gives its results in other shapes; None where it does not pay."""
        self._close()
        if self.products < 2 or prod(self.batch) < SEVERAL:
            return None
        inner = Counter([var for eqn in self.eqns for var in variables(eqn)])
        wanted = {var for eqn in self.eqns for var in eqn.outvars if self._uses[var] > inner[var]}
        needed, again = set(wanted), list[JaxprEqn]()
        for eqn in reversed(self.eqns):
            (var,) = eqn.outvars
            if var in needed and var not in self.made:
                needed.discard(var)
                needed.update([atom for atom in variables(eqn) if self.is_made(atom)])
                again.insert(0, eqn)
        for place, group in self._groups:
            self._steps[place] = self._group_step(group, needed)
        last = {key: place for place, (_, reads, _, _) in enumerate(self._steps) for key in reads}
        results = [var for _, _, writes, _ in self._steps for var in writes if var in needed]
        inside = [var for _, _, writes, _ in self._steps for var in writes if var not in needed]
        saved = sum([self.made[var] >= LEAST for var in inside])
        if saved <= self._written_instead(results) or len(results) > MOST_OPERANDS:
            return None
        slots, rooms = self._slots(inside, last)
        if sum(rooms) * self.dtype.itemsize > ROOM:
            return None
        operands = list(dict.fromkeys([key for _, reads, _, _ in self._steps for key in reads if type(key) is tuple]))
        if len(operands) > MOST_OPERANDS or not self._seen.isdisjoint([key for key, _ in operands]):
            return None
        plan = self._plan(operands, slots, rooms, results)
        atoms = [self._atom(key) for key, _ in operands]
        params = {
            "jaxpr": self._program(atoms, results),
            "name": MATRICES,
            "version": 0,
            "attributes": Attributes(MATRICES, {"plan": plan}),
        }
        return [JaxprEqn(composite_p, atoms, results, params, source_info=self.eqns[0].source_info), *again]

    def _written_instead(self, results: Sequence[Var]) -> int:
        """How many results of rows would be where operands were that were computed before, without the call."""
        groups = [group for _, group in self._groups]
        operands = [
            self._held(key)
            for group in groups
            for key, kind in group.operands
            if kind == ALL and (key, kind) not in group.apart and key.aval.dtype == self.dtype
        ]
        large = {key for group in groups for key, kind in group.kinds.items() if kind == ALL}
        return min(sum([var in large for var in results]), len(set(operands) - self.made.keys()))

    def _atom(self, key: Atom | str) -> Atom:
        return Literal(float.fromhex(key), ShapedArray((), self.dtype)) if isinstance(key, str) else key

    def _group_step(self, group: RowsOfMatrices, needed: set[Var]) -> Step:
        """A program over the rows of one matrix."""
        members = {id(eqn) for eqn in group.eqns}
        elsewhere: set[Atom] = {
            self._held(var) for eqn in self.eqns if id(eqn) not in members for var in variables(eqn)
        }
        others = [other for _, other in self._groups if other is not group]
        elsewhere.update(needed, [self._held(key) for other in others for key, _ in other.operands])
        results = [key for key in group.kinds if type(key) is not tuple and key in elsewhere]
        made = RowPlan(group.instructions, group.kinds, group.operands, results)
        rows, columns = group.shape[-2:]
        reads: list[Read] = []
        for key, kind in group.operands:
            same = self._held(key)
            if same in self.made:
                reads.append(same)
            else:
                each = rows * columns if kind == ALL else rows if kind == OF_ROW else 0
                apart = tuple([each * stride for stride in strides_of(self.batch)])
                reads.append((key, group.apart.get((key, kind), apart)))
        return 1, reads, results, made.plan(NUMBERS[self.dtype.name], rows, columns)

    def _slots(self, inside: Sequence[Var], last: Mapping[Read, int]) -> tuple[dict[Read, int], list[int]]:
        """The temporary array of each, and their elements: those of one size are used again once dead."""
        slots: dict[Read, int] = {}
        rooms: list[int] = []
        free: list[int] = []
        here = set(inside)
        for place, (_, reads, writes, _) in enumerate(self._steps):
            for var in writes:
                if var in here:
                    fit = [slot for slot in free if rooms[slot] == self.made[var]]
                    if fit:
                        free.remove(fit[-1])
                    else:
                        rooms.append(self.made[var])
                    slots[var] = fit[-1] if fit else len(rooms) - 1
            ended = [key for key in dict.fromkeys([*reads, *writes]) if key in slots and last.get(key, place) <= place]
            free += [slots[key] for key in ended]
        return slots, rooms

    def _plan(
        self, operands: Sequence[Place], slots: Mapping[Read, int], rooms: Sequence[int], results: Sequence[Var]
    ) -> tuple[int, ...]:
        """As native/matrices.cc reads it."""
        numbers: dict[Read, int] = {key: place for place, key in enumerate(operands)}
        numbers |= {var: len(operands) + slot for var, slot in slots.items()}
        numbers |= {var: len(operands) + len(rooms) + place for place, var in enumerate(results)}
        code: list[int] = []
        for kernel, reads, writes, plan in self._steps:
            code += [kernel, len(reads), len(writes), *[numbers[key] for key in (*reads, *writes)], len(plan), *plan]
        sizes = NUMBERS[self.dtype.name], len(self.batch), len(operands), len(rooms), len(results), len(self._steps)
        apart = [stride * self._width(key) for key, strides in operands for stride in strides]
        for var in results:
            strides = self._apart.get(var) or [self.made[var] * stride for stride in strides_of(self.batch)]
            apart += [stride * self._width(var) for stride in strides]
        return (*sizes, *self.batch, *apart, *rooms, *code)

    def _width(self, key: Atom | str) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize if isinstance(key, str) else key.aval.dtype.itemsize

    def _program(self, given: Sequence[Atom], results: Sequence[Var]) -> ClosedJaxpr:
        """What the group does, of its operands."""
        arguments = [Var(atom.aval) for atom in given]
        own: dict[Atom, Var] = {}
        for atom, var in zip(given, arguments):
            if type(atom) is not Literal:
                own.setdefault(atom, var)
        equations: list[JaxprEqn] = []

        def add(eqn: JaxprEqn) -> None:
            for atom in variables(eqn):
                if atom not in own:
                    add(self._spread[atom] if atom in self._spread else self._turned[atom])
            inputs = [atom if type(atom) is Literal else own[atom] for atom in eqn.invars]
            outputs = [Var(var.aval) for var in eqn.outvars]
            own.update(zip(eqn.outvars, outputs))
            equations.append(eqn.replace(invars=inputs, outvars=outputs))

        for eqn in self.eqns:
            add(eqn)
        return ClosedJaxpr(Jaxpr([], arguments, [own[var] for var in results], equations, debug_name="matrices"))


# --- programs ---------------------------------------------------------------------------------------------------------


def with_matrices(jaxpr: Jaxpr) -> Jaxpr | None:
    """A program with its groups; None where it has none."""
    if sum([eqn.primitive.identity == PRODUCT for eqn in jaxpr.eqns]) < 2:
        return None
    if not any([_begun(eqn, {}, {}, Counter()) is not None for eqn in jaxpr.eqns]):
        return None
    thin, uses = thinned(jaxpr)
    sources = spread_in(thin)
    turned = {eqn.outvars[0]: eqn for eqn in thin.eqns if eqn.primitive.identity == TRANSPOSE}

    def grouped(eqn: JaxprEqn, waiting: list[JaxprEqn]) -> tuple[Matrices, list[JaxprEqn]] | None:
        group = _begun(eqn, sources, turned, uses)
        count = group.collect(waiting) if group is not None else 0
        fused = group.fused() if group is not None else None
        if group is None or fused is None:
            return None
        del waiting[len(waiting) - count :]
        return group, fused

    return regrouped(thin, grouped)


def _begun(
    eqn: JaxprEqn, sources: dict[Var, JaxprEqn], turned: Mapping[Var, JaxprEqn], uses: Counter[Var]
) -> Matrices | None:
    """A group that begins with an equation."""
    if eqn.primitive.identity != PRODUCT or eqn.effects:
        return None
    axes = eqn.params["dimension_numbers"][1][0]
    aval = eqn.invars[0].aval
    if not axes or aval.dtype not in (np.float32, np.float64):
        return None
    batch = tuple([aval.shape[axis] for axis in axes])
    if prod(batch) < SEVERAL:
        return None
    group = Matrices(batch, aval.dtype, sources, turned, uses)
    return group if group.join(eqn) else None


class _Rewriting:
    """One run of the pass. `programs`: what was made of programs within, by identity; they are kept alive."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._programs: dict[int, tuple[ClosedJaxpr, ClosedJaxpr]] = {}

    def program(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        found = self._programs.get(id(closed))
        if found is None:
            found = self._programs[id(closed)] = closed, self._made(closed)
        return found[1]

    def _made(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        jaxpr, equations = closed.jaxpr, [self._equation(eqn) for eqn in closed.eqns]
        if any([new is not eqn for new, eqn in zip(equations, jaxpr.eqns)]):
            jaxpr = jaxpr.replace(eqns=equations)
        if not self._limits.in_blocks:  # there are kernels
            jaxpr = with_matrices(jaxpr) or jaxpr
        jaxpr = with_groups(jaxpr, self._limits) or jaxpr
        return closed if jaxpr is closed.jaxpr else ClosedJaxpr(jaxpr, closed.consts)

    def _equation(self, eqn: JaxprEqn) -> JaxprEqn:
        params = with_sub_jaxprs(eqn.params, self._within) if eqn.primitive.programs is not None else eqn.params
        return eqn if params is eqn.params else eqn.replace(params=params)

    def _within(self, program: Jaxpr | ClosedJaxpr) -> Jaxpr | ClosedJaxpr:
        return self.program(program) if isinstance(program, ClosedJaxpr) else program


def with_calls(closed: ClosedJaxpr, backend: str, processors: int = 1) -> ClosedJaxpr | None:
    """A program with calls for its groups; None where it has none, or sizes are symbols."""
    limits = LIMITS[backend].on(processors)
    if limits is None or not all([is_known(aval) for aval in closed.in_avals if isinstance(aval, ShapedArray)]):
        return None
    found = _Rewriting(limits).program(closed)
    return None if found is closed else found
