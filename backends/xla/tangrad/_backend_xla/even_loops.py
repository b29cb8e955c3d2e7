"""Loops that draw random numbers, where the threads of a CPU cannot share them evenly: an even loop and the rest.

XLA gives each thread the same share of an array. Where their number does not divide its size, every step asks whether
it is within the array still, and LLVM makes no vectors of a loop that asks and is long, as that of a cipher is. Here
the elements before the last few are computed as an array of their own, which divides, and so are the last few; both are
then put together. Normal numbers, two threads with AVX-512, CPU time for each: 5 ns of 300,000, 46 of 300,001, and 6
with this.

It is done where one array comes out of the loop, which is written to memory in any case: as a result of the program, or
for what is no loop of XLA's; draws of several dimensions number their elements by a loop of their own, and stay as they
are. So do loops without a cipher: some gain as much, gradients lose (a chain of square roots is 4 times as fast, its
gradient 3 times as slow), as XLA chooses the loops by itself in which parts are put together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import lcm
from typing import TYPE_CHECKING

from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    Var,
    decomposition_jaxpr,
    find_primitive,
    literal,
    rule_table,
)
from tangrad.core.tools import with_sub_jaxprs

if TYPE_CHECKING:
    from tangrad.typing import Atom, Params

LEAST = 1 << 12  # elements: XLA shares arrays of fewer among no threads, or loses little
VECTOR = 64  # elements that the even part is a multiple of, for each thread
FAMILIES = frozenset({"elementwise", "special", "activations"})  # of functions of elements
DRAWN = "random"  # the family whose equations are taken apart, as far as they are made of other primitives
CIPHER = "random.threefry2x32"
ADDED = frozenset({CIPHER, "autodiff.add_any", "autodiff.set_weak_type"})  # functions of elements of other families
SPREAD, NUMBERS, RESHAPED = "structure.broadcast_in_dim", "structure.iota", "structure.reshape"
SHAPED = {SPREAD: "shape", NUMBERS: "shape", RESHAPED: "new_sizes"}  # parameters that are the shape of the result
# What XLA makes one loop of with what it reads.
FUSED = frozenset({"reductions", "structure", "indexing", "batching"})


def even_part(aval: object, count: int) -> int:
    """How many elements of a vector `count` threads share as the even part; 0 where they share all well."""
    shape = getattr(aval, "shape", None) or (0,)
    size = shape[0] if len(shape) == 1 else 0
    if type(size) is not int or size < LEAST or size % count == 0:
        return 0
    return size - size % lcm(VECTOR, count)


def with_even_loops(closed: ClosedJaxpr, threads: Callable[[], int]) -> ClosedJaxpr:
    """A program whose draws are shared evenly among as many threads as `threads` gives; itself where nothing is to do.

    >>> import tangrad
    >>> from tangrad._backend_xla.even_loops import with_even_loops
    >>> key = tangrad.random.key(0)
    >>> program = tangrad.make_jaxpr(lambda key: tangrad.random.normal(key, (100_001,)))(key)
    >>> alone, shared = with_even_loops(program, lambda: 1), with_even_loops(program, lambda: 2)
    >>> alone is program, shared.jaxpr.eqns[-1].primitive.name
    (True, 'concatenate')
    """
    return _Rewriting(threads).program(closed, [True] * len(closed.jaxpr.outvars))


class _Rewriting:
    """One run. `threads`: how many there are, which is asked where something is drawn."""

    def __init__(self, threads: Callable[[], int]) -> None:
        self._threads = threads
        self._programs: dict[
            tuple[int, tuple[bool, ...]], tuple[ClosedJaxpr, ClosedJaxpr]
        ] = {}  # those within, which are kept alive

    def program(self, closed: ClosedJaxpr, stored: Sequence[bool]) -> ClosedJaxpr:
        """A program, of which some results are written to memory."""
        key = id(closed), tuple(stored)
        if key not in self._programs:
            self._programs[key] = closed, self._made(closed, stored)
        return self._programs[key][1]

    def _made(self, closed: ClosedJaxpr, stored: Sequence[bool]) -> ClosedJaxpr:
        jaxpr = closed.jaxpr
        if any(map(self._draws, jaxpr.eqns)):
            jaxpr = _Loops(jaxpr.replace(eqns=list(self._drawn(jaxpr.eqns))), stored, self._count).jaxpr() or jaxpr
        if any([eqn.primitive.programs is not None for eqn in jaxpr.eqns]):
            jaxpr = self._looked_into(jaxpr, stored)
        return closed if jaxpr is closed.jaxpr else ClosedJaxpr(jaxpr, closed.consts)

    @cached_property
    def _count(self) -> int:
        return self._threads()

    def _draws(self, eqn: JaxprEqn) -> bool:
        return eqn.primitive.family == DRAWN and even_part(eqn.outvars[0].aval, self._count) > 0

    def _drawn(self, eqns: Sequence[JaxprEqn]) -> Iterator[JaxprEqn]:
        """The equations, those that draw random numbers as what they are made of."""
        for eqn in eqns:
            if not self._draws(eqn) or eqn.primitive.decompose is None:
                yield eqn
                continue
            closed = decomposition_jaxpr(eqn.primitive, [atom.aval for atom in eqn.invars], eqn.params)
            if closed.consts:
                yield eqn
            else:
                yield from self._drawn(list(_inlined(closed.jaxpr, eqn)))

    def _looked_into(self, jaxpr: Jaxpr, stored: Sequence[bool]) -> Jaxpr:
        written = _written(jaxpr, stored)
        eqns = [self._equation(eqn, written) for eqn in jaxpr.eqns]
        changed = any([new is not eqn for new, eqn in zip(eqns, jaxpr.eqns)])
        return jaxpr.replace(eqns=eqns) if changed else jaxpr

    def _equation(self, eqn: JaxprEqn, written: set[Var]) -> JaxprEqn:
        if eqn.primitive.programs is None:
            return eqn
        # Of a call the results go on as those of its equation do; others are written to memory.
        results = [var in written for var in eqn.outvars] if eqn.primitive.programs == "call" else None
        params = with_sub_jaxprs(eqn.params, lambda program: self._program_within(program, results))
        return eqn if params is eqn.params else eqn.replace(params=params)

    def _program_within(self, program: Jaxpr | ClosedJaxpr, stored: Sequence[bool] | None) -> Jaxpr | ClosedJaxpr:
        if not isinstance(program, ClosedJaxpr):
            return program
        count = len(program.jaxpr.outvars)
        return self.program(program, [True] * count if stored is None or len(stored) != count else stored)


def _inlined(jaxpr: Jaxpr, eqn: JaxprEqn) -> Iterator[JaxprEqn]:
    """The equations of a program in place of one that it is equal to."""
    names: dict[Atom, Atom] = dict(zip(jaxpr.invars, eqn.invars))
    results = dict(zip(jaxpr.outvars, eqn.outvars))
    for inner in jaxpr.eqns:
        outvars = [results.get(var) or Var(var.aval) for var in inner.outvars]
        yield inner.replace(invars=[names.get(atom, atom) for atom in inner.invars], outvars=outvars)
        names.update(zip(inner.outvars, outvars))


def _written(jaxpr: Jaxpr, stored: Sequence[bool]) -> set[Var]:
    """What is written to memory in any case: results that are, and what XLA makes no loop of."""
    written = {atom for atom, is_stored in zip(jaxpr.outvars, stored) if is_stored and isinstance(atom, Var)}
    for eqn in jaxpr.eqns:
        if not _is_fused(eqn.primitive):
            written.update(_variables(eqn))
    return written


def _is_fused(primitive: Primitive) -> bool:
    """Whether XLA may make one loop of an equation and others."""
    if primitive.identity in ADDED or primitive.family in FUSED:
        return True
    return primitive.family in FAMILIES and not _is_called(primitive)


def _variables(eqn: JaxprEqn) -> list[Var]:
    return [atom for atom in eqn.invars if isinstance(atom, Var)]


def _is_called(primitive: Primitive) -> bool:
    """Whether another distribution than this one lowers a primitive for CPUs: as a call, that is."""
    cell = rule_table("lower.xla.cpu").cell(primitive)
    return cell.status == "rule" and cell.plugin is not None and cell.plugin.distribution != "tangrad-backend-xla"


class _Loops:
    """The loops of one program.

    Attributes:
        evens: equations that a loop may be made of, by identity, and how many elements are its even part.
        parts: of what such equations made, once it is in two.
    """

    def __init__(self, jaxpr: Jaxpr, stored: Sequence[bool], count: int) -> None:
        self._jaxpr, self._stored, self._count = jaxpr, stored, count
        self._owners: dict[Var, Var] = {}  # variables of one loop -> one of them
        self._evens = {id(eqn): even for eqn in jaxpr.eqns if (even := self._joins(eqn))}
        self._parts: dict[Var, tuple[Var, Var]] = {}
        self._eqns: list[JaxprEqn] = []

    def jaxpr(self) -> Jaxpr | None:
        """The program with loops in two parts, None where none is."""
        chosen = self._chosen()
        if not chosen:
            return None
        whole = self._read_by_others()
        for eqn in self._jaxpr.eqns:
            if id(eqn) not in chosen:
                self._eqns.append(eqn)
                continue
            self._in_two(eqn, self._evens[id(eqn)])
            for var in eqn.outvars:
                if var in whole:
                    self._together(var)
        return self._jaxpr.replace(eqns=self._eqns)

    def _joins(self, eqn: JaxprEqn) -> int:
        """How many elements an equation computes in the even part; 0 for one that cannot be in two."""
        even = even_part(eqn.outvars[0].aval, self._count) if eqn.outvars and not eqn.effects else 0
        if not even or any([var.aval.shape != eqn.outvars[0].aval.shape for var in eqn.outvars]):
            return 0
        name, shapes = eqn.primitive.identity, [getattr(atom.aval, "shape", None) for atom in eqn.invars]
        if name == NUMBERS:
            return even if eqn.params["dtype"].kind in "iu" else 0
        if name == SPREAD:
            return even if shapes == [()] else 0
        if name == RESHAPED:
            return even if shapes == [eqn.outvars[0].aval.shape] else 0
        if name not in ADDED:
            if eqn.primitive.family not in FAMILIES or "axis" in eqn.params or _is_called(eqn.primitive):
                return 0
        return even if all([shape in ((), eqn.outvars[0].aval.shape) for shape in shapes]) else 0

    # --- which loops are chosen -----------------------------------------------------------------------------------

    def _owner(self, var: Var) -> Var:
        while (owner := self._owners.setdefault(var, var)) is not var:
            var = owner
        return var

    def _chosen(self) -> set[int]:
        """The equations of loops that draw, and of which one array comes, which is stored."""
        eqns = [eqn for eqn in self._jaxpr.eqns if id(eqn) in self._evens]
        made = {var for eqn in eqns for var in eqn.outvars}
        for eqn in eqns:
            for var in (*eqn.outvars, *[var for var in _variables(eqn) if var in made]):
                self._owners[self._owner(var)] = self._owner(eqn.outvars[0])
        owners = {self._owner(eqn.outvars[0]) for eqn in eqns if eqn.primitive.identity == CIPHER}
        owners &= {self._owner(var) for var in _written(self._jaxpr, self._stored) if var in made}
        outcomes = Counter([self._owner(var) for var in self._read_by_others() if var in made])
        # What XLA would compute within the loop, it would do for both parts.
        unstored = {var for eqn in self._jaxpr.eqns if _is_fused(eqn.primitive) for var in eqn.outvars} - made
        owners -= {
            self._owner(eqn.outvars[0])
            for eqn in eqns
            if any([var.aval.shape and var in unstored for var in _variables(eqn)])
        }
        return {id(eqn) for eqn in eqns if (owner := self._owner(eqn.outvars[0])) in owners and outcomes[owner] == 1}

    def _read_by_others(self) -> set[Var]:
        """What is a result of the program, or an operand of equations that no loop is made of."""
        eqns = [eqn for eqn in self._jaxpr.eqns if id(eqn) not in self._evens]
        return {var for eqn in eqns for var in _variables(eqn)}.union(
            [atom for atom in self._jaxpr.outvars if type(atom) is Var]
        )

    # --- equations in two parts -----------------------------------------------------------------------------------

    def _in_two(self, eqn: JaxprEqn, even: int) -> None:
        name = eqn.primitive.identity
        operands = [self._parts_of(atom, even) for atom in eqn.invars]
        made = [_parts(var, even) for var in eqn.outvars]
        for part in range(2):
            outs = [parts[part] for parts in made]
            params = eqn.params | ({SHAPED[name]: outs[0].aval.shape} if name in SHAPED else {})
            is_later = part == 1 and name == NUMBERS
            first = [Var(outs[0].aval)] if is_later else outs
            self._eqns.append(eqn.replace(invars=[parts[part] for parts in operands], outvars=first, params=params))
            if is_later:  # numbers go on from where the even part ended
                self._add("elementwise.add", [*first, literal(even, params["dtype"])], outs)
        self._parts.update(zip(eqn.outvars, made))

    def _parts_of(self, atom: Atom, even: int) -> tuple[Atom, Atom]:
        """Both parts of an operand; a scalar is itself in both."""
        if isinstance(atom, Literal) or not atom.aval.shape:
            return atom, atom
        if atom not in self._parts:
            self._parts[atom] = parts = _parts(atom, even)
            for part, start, limit in zip(parts, (0, even), (even, *atom.aval.shape)):
                params = {"start_indices": (start,), "limit_indices": (limit,), "strides": None}
                self._add("structure.slice", [atom], [part], params)
        return self._parts[atom]

    def _together(self, var: Var) -> None:
        """The whole array. XLA would make one loop of both parts and of putting them together, which asks again."""
        stored = [Var(part.aval) for part in self._parts[var]]
        self._add("structure.optimization_barrier", self._parts[var], stored)
        self._add("structure.concatenate", stored, [var], {"dimension": 0})

    def _add(self, name: str, invars: Sequence[Atom], outvars: Sequence[Var], params: Params | None = None) -> None:
        """One more equation. The families that are named are where those are that a loop is made of."""
        self._eqns.append(JaxprEqn(find_primitive(name), invars, outvars, params or {}))


def _parts(var: Var, even: int) -> tuple[Var, Var]:
    """New variables for both parts of a vector."""
    (size,) = var.aval.shape
    return Var(var.aval.update(shape=(even,))), Var(var.aval.update(shape=(size - even,)))
