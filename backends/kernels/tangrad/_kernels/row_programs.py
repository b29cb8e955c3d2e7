"""Equations over the rows of large arrays as one call of the kernel `rows`.

Sums, products and functions of elements, sums, maxima and softmax of rows, sums of columns, on arrays of one shape that
are seen as (rows, columns), become a *group*, as far as what is between them does not stand in the way. A backend reads
and writes a whole array for each of them, or computes some of them again and again; the kernel goes through all of them
with a few rows. A group is a composite, so that what has no kernel can do what it is made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._kernels.groups import Collection, regrouped, thinned, variables
from tangrad._kernels.jobs import (
    ALL,
    COLUMN_SUM,
    DIVIDE,
    EXP,
    LOG,
    MULTIPLY,
    NUMBERS,
    OF_COLUMN,
    OF_ROW,
    ONE,
    OPERATIONS,
    PLACE,
    REDUCTIONS,
    ROW_MAXIMUM,
    ROW_SUM,
    SOFTMAX,
    TANH,
    Instruction,
    Limits,
    RowPlan,
)
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, ShapedArray, Var
from tangrad.extend.custom_rules import Attributes, composite_p
from tangrad.extend.lax import GatherScatterMode, ScatterDimensionNumbers

if TYPE_CHECKING:
    from tangrad.typing import Atom, DType

ROWS, BLOCKS = "tangrad.rows", "tangrad.row_blocks"  # composites: calls of the kernel, and loops over blocks of rows

# What gives its operand, or its elements in another shape, and the parameter that has the places of its dimensions.
SAME = frozenset({"structure.stop_gradient", "structure.reshape", "structure.squeeze"})
SPREADING = {"structure.broadcast_in_dim": "broadcast_dimensions", "batching.broadcast_axis": "positions"}
PLACING = "indexing.scatter_add"
ONE_KEY = (1.0).hex()  # numbers in the program are known by their text
LONGEST = 1 << 16  # columns
MOST, MOST_OPERANDS = 250, 60  # instructions of a group; operands, and results

Seen = tuple[Any, int]  # what holds the elements, an instruction's result or an operand, and how it is seen


class Group(Collection):
    """Equations over the rows of arrays that become one.

    Attributes:
        shape: of the arrays; seen: what its equations made, by variable.
        sources_read: equations that spread what is not from here, by their results.
    """

    def __init__(
        self, shape: tuple[int, ...], dtype: DType, sources: dict[Var, JaxprEqn], members: set[int] | None = None
    ) -> None:
        super().__init__()
        self.shape, self.dtype = shape, dtype
        self.seen: dict[Var, Seen] = {}
        self.kinds: dict[Any, int] = {}  # of results
        self.operands: dict[Seen, int] = {}
        self.instructions: list[Instruction] = []
        self.passes = self.reductions = self.column_sums = 0
        self.around: set[Any] = set()  # results that go on with what was found of a row
        self.sources_read: dict[Var, JaxprEqn] = {}
        self._sources, self._members = sources, members

    # --- what joins ------------------------------------------------------------------------------------------------

    def is_full(self) -> bool:
        return max(len(self.operands), len(self.eqns)) >= MOST_OPERANDS or len(self.instructions) >= MOST

    def is_made(self, atom: Atom) -> bool:
        return atom in self.seen

    def may_join(self, eqn: JaxprEqn) -> bool:
        return self._members is None or id(eqn) in self._members

    def join(self, eqn: JaxprEqn) -> bool:
        """Make instructions of an equation, if it is one of those."""
        if len(eqn.outvars) != 1 or getattr(eqn.outvars[0].aval, "dtype", None) != self.dtype:
            return False
        made = self.instruct(eqn, eqn.outvars[0])
        if made:
            self.eqns.append(eqn)
        return made

    def instruct(self, eqn: JaxprEqn, result: Var) -> bool:
        """Make instructions of an equation with one result of the group's dtype, or let it pass as something made."""
        name = eqn.primitive.identity
        if name in OPERATIONS:
            return self._elementwise(OPERATIONS[name], eqn, result)
        if name in REDUCTIONS:
            return self._reduction(REDUCTIONS[name], eqn, result)
        if name == "activations.softmax":
            return self._softmax(eqn, result)
        return self._placed(eqn, result) if name == PLACING else self._same(eqn, result)

    def _elementwise(self, operation: int, eqn: JaxprEqn, result: Var) -> bool:
        if eqn.params.get("y", 2) not in (2, 3):
            return False
        kind = ALL if result.aval.shape == self.shape else OF_ROW
        of_floats = kind == ALL and self.dtype != np.float32  # which vectors there are of in single precision alone
        if (operation == LOG and kind == ALL) or (operation in (EXP, TANH) and of_floats):
            return False
        found = [self._read(atom, result.aval.shape) for atom in eqn.invars]
        reads = [read for read in found if read is not None]
        if len(reads) < len(found) or not self._are_seen(kind, result.aval.shape, reads):
            return False
        same = _multiplied_by_one(operation, reads)
        if same is not None and same[0] in self.kinds:
            self.seen[result] = same
            return True
        first, last = self._operand(reads[0]), self._operand(reads[-1])
        if eqn.params.get("y") == 3:
            square = (result, "square")
            self._append(operation, square, kind, first, first)
            first = square
        self._append(operation, result, kind, first, last)
        if kind == ALL and any([self.kinds.get(key) == OF_ROW for key, _ in reads]):
            self.around.add(result)
        self.seen[result] = result, kind
        return True

    def _are_seen(self, kind: int, shape: tuple[int, ...], reads: Sequence[Seen]) -> bool:
        """Whether a result may be had of what it is computed of.

        Numbers of rows are, if one of them at least is from here: else they may be numbers of columns.
        """
        if kind == ALL:
            return any([found != ONE for _, found in reads])
        if not self._is_of_rows(shape):
            return False
        return all([found in (OF_ROW, ONE) for _, found in reads]) and any([key in self.kinds for key, _ in reads])

    def _read(self, atom: Atom, shape: tuple[int, ...]) -> Seen | None:
        """How an operand is seen from a result of a shape."""
        aval = atom.aval
        if type(atom) is Literal:
            return (float(atom.val).hex(), ONE) if aval.dtype == self.dtype else None
        if atom in self.seen:
            return self.seen[atom]
        if aval.dtype != self.dtype:
            return None
        if prod(aval.shape) == 1:
            return atom, ONE
        if shape != self.shape:
            return (atom, OF_ROW) if aval.shape == shape else None
        return self._whole(atom)

    def _whole(self, atom: Var) -> Seen | None:
        """How what is not from here, and has the shape of the arrays, is seen: as what is spread, if that made it."""
        source = self._sources.get(atom)
        if source is None:
            return (atom, ALL) if atom.aval.shape == self.shape else None
        found = self._of_source(source)
        if found is not None:
            self.sources_read[atom] = source
        return found

    def _of_source(self, source: JaxprEqn) -> Seen | None:
        """What is spread, as it is before: what cannot be is not for the kernel, which would have it in memory."""
        dimensions = SPREADING.get(source.primitive.identity)
        if dimensions is None or not self.seen.keys().isdisjoint(variables(source)):
            return None
        (atom,) = source.invars
        if type(atom) is Literal:
            return float(atom.val).hex(), ONE
        kind = self._kind_of_source(atom, source.params[dimensions])
        return None if kind is None else (atom, kind)

    def _kind_of_source(self, atom: Var, dimensions: Sequence[int]) -> int | None:
        """How an operand that is spread over the arrays is seen; None where it cannot be."""
        return self._kind_of_spread(atom.aval.shape, dimensions)

    def _kind_of_spread(self, shape: tuple[int, ...], dimensions: Sequence[int]) -> int | None:
        last = len(self.shape) - 1
        places = [place for size, place in zip(shape, dimensions) if size != 1]
        if not places:
            return ONE
        if places == [last]:
            return OF_COLUMN
        return OF_ROW if places == [place for place in range(last) if self.shape[place] != 1] else None

    def _same(self, eqn: JaxprEqn, result: Var) -> bool:
        """Numbers from here in another shape: of rows, or spread over them."""
        own = [var for var in variables(eqn) if var in self.seen]
        if len(eqn.invars) != 1 or not own or (eqn.primitive.name == "reshape" and eqn.params["dimensions"]):
            return False
        (x,) = own
        name, shape = eqn.primitive.identity, result.aval.shape
        key, kind = self.seen[x]
        if name in SPREADING and shape == self.shape:
            if kind != OF_ROW or self._kind_of_spread(x.aval.shape, eqn.params[SPREADING[name]]) != OF_ROW:
                return False
        elif name not in SAME and name not in SPREADING:
            return False
        elif shape != x.aval.shape:
            if kind != OF_ROW or not (self._is_of_rows(x.aval.shape) and self._is_of_rows(shape)):
                return False
        self.seen[result] = key, kind
        return True

    def _is_of_rows(self, shape: tuple[int, ...]) -> bool:
        return shape in (self.shape[:-1], (*self.shape[:-1], 1))

    def _reduction(self, operation: int, eqn: JaxprEqn, result: Var) -> bool:
        (x,) = eqn.invars
        axes, last = tuple(eqn.params["axes"]), len(self.shape) - 1
        if x.aval.shape != self.shape:  # of one number
            if axes != (last,) or x.aval.shape != (*self.shape[:-1], 1) or type(x) is Literal or x not in self.seen:
                return False
            self.seen[result] = self.seen[x]
            return True
        read = self._read(x, self.shape)
        if read is None or read[1] != ALL:
            return False
        if axes == (last,):
            kind = OF_ROW
        elif axes == tuple(range(last)) and operation == ROW_SUM:
            operation, kind = COLUMN_SUM, OF_COLUMN
            self._late.add(result)
        else:
            return False
        operand = self._operand(read)
        self._append(operation, result, kind, operand, operand)
        self.seen[result] = result, kind
        return True

    def _softmax(self, eqn: JaxprEqn, result: Var) -> bool:
        read = self._read(eqn.invars[0], self.shape) if result.aval.shape == self.shape else None
        if read is None or read[1] != ALL or self.dtype != np.float32:
            return False
        if tuple(eqn.params["axes"]) != (len(self.shape) - 1,):
            return False
        operand = self._operand(read)
        self._append(SOFTMAX, result, ALL, operand, operand)
        self.around.add(result)
        self.seen[result] = result, ALL
        return True

    def _placed(self, eqn: JaxprEqn, result: Var) -> bool:
        """A number for each row, added to zeros at a place of the row: the gradient of what picks one element each."""
        zeros, places, numbers = eqn.invars
        last = len(self.shape) - 1
        each = ScatterDimensionNumbers((), (last,), (last,), tuple(range(last)), tuple(range(last)))
        source = None if type(zeros) is Literal else self._sources.get(zeros)
        if source is None or type(places) is Literal or result.aval.shape != self.shape:
            return False
        zero = source.invars[0] if source.invars else None
        if type(zero) is not Literal or zero.val != 0 or places.aval.dtype != np.int32:
            return False
        if eqn.params["dimension_numbers"] != each or eqn.params["mode"] is GatherScatterMode.CLIP:
            return False
        read = self._read(numbers, numbers.aval.shape) if self._is_of_rows(numbers.aval.shape) else None
        if read is None or read[1] not in (OF_ROW, ONE):
            return False
        self.sources_read[source.outvars[0]] = source
        self._append(PLACE, result, ALL, self._operand((places, OF_ROW)), self._operand(read))
        self.seen[result] = result, ALL
        return True

    def _operand(self, read: Seen) -> Any:
        if read[0] in self.kinds:
            return read[0]
        self.operands.setdefault(read, len(self.operands))
        return read

    def _append(self, operation: int, result: object, kind: int, first: object, *others: object) -> None:
        second, third = (*others, first)[:2]
        self.kinds[result] = kind
        self.instructions.append((operation, result, first, second, third))
        is_reduction = operation in (ROW_SUM, ROW_MAXIMUM, COLUMN_SUM)
        self.passes += kind == ALL or is_reduction
        self.reductions += 2 if operation in (SOFTMAX, PLACE) else is_reduction
        self.column_sums += operation == COLUMN_SUM

    # --- what becomes of it ----------------------------------------------------------------------------------------

    def members_around(self) -> set[int]:
        """The equations that are connected with what goes on with numbers of rows."""
        parent: dict[Any, Any] = {}

        def root(key: object) -> Any:
            while parent.get(key, key) != key:
                key = parent[key]
            return key

        for _, result, *keys in self.instructions:
            for key in keys:
                if key in self.kinds:
                    parent[root(key)] = root(result)
        wanted = {root(key) for key in self.around}
        return {id(eqn) for eqn in self.eqns if root(self.seen[eqn.outvars[0]][0]) in wanted}

    def fused(self, uses: Counter[Var], name: str) -> list[JaxprEqn]:
        """The one equation, and behind it what gives its results in other shapes.

        `uses`: how often what all equations make is read; `name`: of the composite.
        """
        inner = Counter([var for eqn in self.eqns for var in variables(eqn)])
        needed = {var for var in self.seen if uses[var] > inner[var]}
        again: list[JaxprEqn] = []
        for eqn in reversed(self.eqns):
            (var,) = eqn.outvars
            if var in needed and var not in self.kinds:
                needed.discard(var)
                needed.update([atom for atom in variables(eqn) if atom in self.seen])
                again.insert(0, eqn)
        results = [var for var in self.kinds if type(var) is not tuple and var in needed]
        number = ShapedArray((), self.dtype)
        given = [Literal(float.fromhex(key), number) if type(key) is str else key for key, _ in self.operands]
        program = self._program(given, results)
        made = RowPlan(self.instructions, self.kinds, self.operands, results)
        plan = made.plan(NUMBERS[self.dtype.name], prod(self.shape[:-1]), self.shape[-1])
        attributes = Attributes(name, {"plan": plan})
        params = {"jaxpr": program, "name": name, "version": 0, "attributes": attributes}
        return [JaxprEqn(composite_p, given, results, params, source_info=self.eqns[0].source_info), *again]

    def _program(self, given: Sequence[Atom], results: Sequence[Var]) -> ClosedJaxpr:
        """What the group does, of its operands."""
        arguments = [Var(atom.aval) for atom in given]
        own: dict[Atom, Var] = {atom: var for atom, var in zip(given, arguments) if type(atom) is not Literal}
        equations = []
        read = {var for eqn in self.eqns for var in variables(eqn)}
        spread = [eqn for var, eqn in self.sources_read.items() if var in read]
        for eqn in (*spread, *self.eqns):
            inputs = [atom if type(atom) is Literal else own[atom] for atom in eqn.invars]
            outputs = [Var(var.aval) for var in eqn.outvars]
            own.update(zip(eqn.outvars, outputs))
            equations.append(eqn.replace(invars=inputs, outvars=outputs))
        return ClosedJaxpr(Jaxpr([], arguments, [own[var] for var in results], equations, debug_name="rows"))


def _multiplied_by_one(operation: int, reads: Sequence[Seen]) -> Seen | None:
    if len(reads) == 2 and operation in (MULTIPLY, DIVIDE) and reads[1][0] == ONE_KEY:
        return reads[0]
    return reads[1] if len(reads) == 2 and operation == MULTIPLY and reads[0][0] == ONE_KEY else None


# --- programs ---------------------------------------------------------------------------------------------------------


def starts_group(eqn: JaxprEqn) -> bool:
    """Whether a group may begin with an equation."""
    name = eqn.primitive.identity
    return name in OPERATIONS or name in REDUCTIONS or name in ("activations.softmax", PLACING)


def _begun(
    eqn: JaxprEqn, limits: Limits, sources: dict[Var, JaxprEqn], members: set[int] | None = None
) -> Group | None:
    """A group that begins with an equation."""
    name = eqn.primitive.identity
    if not starts_group(eqn):
        return None
    aval: Any = eqn.invars[0].aval if name in REDUCTIONS else eqn.outvars[0].aval
    if len(aval.shape) < 2 or eqn.effects or aval.dtype not in (np.float32, np.float64):
        return None
    if not limits.columns <= aval.shape[-1] <= LONGEST or prod(aval.shape) < limits.elements:
        return None
    group = Group(tuple(aval.shape), aval.dtype, sources, members)
    return group if group.join(eqn) else None


def _collected(
    eqn: JaxprEqn,
    waiting: Sequence[JaxprEqn],
    limits: Limits,
    sources: dict[Var, JaxprEqn],
    members: set[int] | None = None,
) -> tuple[Group, int] | None:
    """The group that begins with an equation, and how many of those that wait, the last ones, it went through."""
    group = _begun(eqn, limits, sources, members)
    if group is None:
        return None
    return group, group.collect(waiting)


def _grouped(eqn: JaxprEqn, waiting: list[JaxprEqn], limits: Limits, sources: dict[Var, JaxprEqn]) -> Group | None:
    """The group that begins with an equation, if it pays; what it goes through is taken from those that wait."""
    found = _collected(eqn, waiting, limits, sources)
    if found is not None and limits.around:
        members = found[0].members_around()
        if id(eqn) not in members:
            return None
        if len(members) < len(found[0].eqns):  # it ends sooner where fewer join it
            found = _collected(eqn, waiting, limits, sources, members)
    if found is None:
        return None
    group, count = found
    if not limits.allow(prod(group.shape[:-1]), group.passes, group.reductions, group.column_sums):
        return None
    del waiting[len(waiting) - count :]
    return group


def with_groups(jaxpr: Jaxpr, limits: Limits) -> Jaxpr | None:
    """A program with its groups; None where it has none."""
    if not limits.around and not any([eqn.primitive.identity in REDUCTIONS for eqn in jaxpr.eqns]):
        return None
    if not any([_is_large(eqn, limits) for eqn in jaxpr.eqns]):
        return None
    thin, uses = thinned(jaxpr)
    sources = spread_in(thin)

    def grouped(eqn: JaxprEqn, waiting: list[JaxprEqn]) -> tuple[Group, list[JaxprEqn]] | None:
        group = _grouped(eqn, waiting, limits, sources)
        return None if group is None else (group, group.fused(uses, BLOCKS if limits.in_blocks else ROWS))

    return regrouped(thin, grouped)


def spread_in(jaxpr: Jaxpr) -> dict[Var, JaxprEqn]:
    """What spreads numbers, or counts, by what it makes."""
    return {eqn.outvars[0]: eqn for eqn in jaxpr.eqns if eqn.primitive.identity in (*SPREADING, "structure.iota")}


def _is_large(eqn: JaxprEqn, limits: Limits) -> bool:
    shape = getattr(eqn.outvars[0].aval, "shape", ()) if len(eqn.outvars) == 1 else ()
    return len(shape) > 1 and prod(shape) >= limits.elements
