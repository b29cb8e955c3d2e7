"""What primitives, programs and functions do with random keys, and the rule kind for it: `key_reuse`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from tangrad._random.keys import is_key
from tangrad.core import (
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    RuleKind,
    ShapedArray,
    Transformation,
    api_boundary,
    array_leaves,
    as_operand,
    get_aval,
    returned_leaves,
    rule_table,
    trace_to_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.errors import KeyReuseError

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import Atom, Value

Places: TypeAlias = np.ndarray | None  # of each key of a result the place among the keys of an operand: integers
Which: TypeAlias = np.ndarray | bool  # of the keys of an array: True: all, or a mask of its shape


class KeyUse(NamedTuple):
    """What a primitive does with keys. Results that are keys, and are not named here, count as used.

    Attributes:
        consumes: operand -> which of its keys are used: True, or a boolean array of the operand's shape.
        fresh: the results that are new, unused keys.
        moved: result -> (operand, places): the result's keys are keys of that operand. `places` is an array of the
            result's shape with the place of each among the operand's keys, counted row by row; None: those at the same
            places.
        some: result -> operand: the result's keys are keys of that operand, and values say which.

    >>> from tangrad._random.key_reuse.uses import KeyUse
    >>> KeyUse(consumes={0: True}, fresh=(0,))  # as splitting does
    KeyUse(consumes={0: True}, fresh=(0,), moved={}, some={})
    """

    consumes: Mapping[int, Which] = {}
    fresh: Collection[int] = ()
    moved: Mapping[int, tuple[int, Places]] = {}
    some: Mapping[int, int] = {}


def places_of(aval: ShapedArray) -> Places:
    """The place of each key of an array, in its shape; None where its size is not known."""
    if all([type(size) is int for size in aval.shape]):
        return np.arange(math.prod(aval.shape)).reshape(aval.shape)
    return None


class Origin:
    """Keys that were made together.

    Attributes:
        used: for each of them whether it was used. by: what used some first, for messages.
        among: the keys that these were chosen from, if it is not known which they are.
    """

    __slots__ = ("among", "by", "used")

    def __init__(self, size: int, used: bool = False, by: str = "") -> None:
        self.used, self.by = np.full(size, used), by
        self.among: Keys | None = None


class Keys:
    """The keys of one array: their origin, and the place of each among the keys of that; None: all in one."""

    __slots__ = ("origin", "places")

    def __init__(self, origin: Origin, places: Places) -> None:
        self.origin, self.places = origin, places

    @classmethod
    def of(cls, aval: ShapedArray, used: bool = False, by: str = "") -> Keys:
        """Keys of an origin of their own."""
        places = places_of(aval)
        return cls(Origin(1 if places is None else places.size, used, by), places)

    def _at(self, which: Which) -> np.ndarray | slice:
        """The places of some of the keys: of all, unless a mask of this shape selects some."""
        if self.places is None:
            return slice(None) if which is True or np.any(which) else slice(0)
        fits = which is not True and np.shape(which) == self.places.shape
        return self.places[which] if fits else self.places

    def were_used(self, which: Which = True) -> bool:
        """Whether one of these keys was used."""
        return bool(self.origin.used[self._at(which)].any())

    def use(self, which: Which, by: str) -> None:
        """Note that these keys were used."""
        self.origin.by = self.origin.by or by
        self.origin.used[self._at(which)] = True

    def moved(self, aval: ShapedArray, places: Places) -> Keys:
        """Those of these keys that a result of type `aval` has."""
        if self.places is None or places_of(aval) is None:
            return Keys(self.origin, None)
        if places is None:
            same = self.places.shape == aval.shape
            return Keys(self.origin, self.places) if same else self.some(aval)
        return Keys(self.origin, self.places.reshape(-1)[places])

    def some(self, aval: ShapedArray) -> Keys:
        """A result that has some of these keys, but it is not known which: used if all are."""
        found = Keys.of(aval, bool(self.origin.used[self._at(True)].all()), self.origin.by)
        found.origin.among = self
        return found


def check(keys: Keys, which: Which, aval: ShapedArray, by: str) -> None:
    """Raise KeyReuseError if one of these keys was used before."""
    if keys.were_used(which):
        earlier = f" by {keys.origin.by}" if keys.origin.by else ""
        raise KeyReuseError(
            f"a random key of type {aval.str_short()} is used a second time, by {by}; it was used before{earlier}. "
            "Make a key for each use, key, subkey = random.split(key), or say that it is meant to be the same: "
            "random.clone(key)"
        )


def results(use: KeyUse, given: Sequence[Keys | None], avals: Sequence[ShapedArray], by: str) -> list[Keys | None]:
    """The keys of each result of a primitive; None where it has none."""
    found: list[Keys | None] = []
    for position, aval in enumerate(avals):
        if not isinstance(aval, ShapedArray) or not is_key(aval):
            found.append(None)
        elif position in use.moved and (keys := given[use.moved[position][0]]) is not None:
            found.append(keys.moved(aval, use.moved[position][1]))
        elif position in use.some and (keys := given[use.some[position]]) is not None:
            found.append(keys.some(aval))
        elif position in use.fresh:
            found.append(Keys.of(aval))
        else:
            found.append(Keys.of(aval, True, by))
    return found


_known = JaxprCache()
register_cache(_known.clear)


def use_of_program(closed: ClosedJaxpr) -> KeyUse:
    """What a program does with the keys among its arguments, and which results are keys.

    Operands are the arguments; those after them are the constants that it closed over. Raises KeyReuseError where it
    uses a key twice.
    """
    return _known.get(closed, "key_reuse", lambda: _Walk(closed).run())


def has_keys(atoms: Sequence[Atom]) -> bool:
    """Whether there are keys among variables."""
    return any([isinstance(atom.aval, ShapedArray) and is_key(atom.aval) for atom in atoms])


class _Walk:
    """Goes through a program once."""

    def __init__(self, closed: ClosedJaxpr) -> None:
        self._jaxpr = closed.jaxpr
        self._given = [*self._jaxpr.invars, *self._jaxpr.constvars]
        self._keys: dict[Atom, Keys] = {var: Keys.of(var.aval) for var in self._given if has_keys([var])}

    def run(self) -> KeyUse:
        for eqn in self._jaxpr.eqns:
            if has_keys(eqn.invars) or has_keys(eqn.outvars):
                self._apply(eqn)
        return self._summary()

    def _of(self, atom: Atom) -> Keys | None:
        return None if type(atom) is Literal else self._keys.get(atom)

    def _apply(self, eqn: JaxprEqn) -> None:
        use = rule_table("key_reuse")[eqn.primitive](tuple([atom.aval for atom in eqn.invars]), **eqn.params)
        by, given = described(eqn), [self._of(atom) for atom in eqn.invars]
        for position, which in use.consumes.items():
            keys = given[position] if position < len(given) else None
            if keys is not None:
                check(keys, which, eqn.invars[position].aval, by)
                keys.use(which, by)
        for var, keys in zip(eqn.outvars, results(use, given, [var.aval for var in eqn.outvars], by), strict=True):
            if keys is not None:
                self._keys[var] = keys

    def _summary(self) -> KeyUse:
        inputs = [self._keys.get(var) for var in self._given]
        consumed = {}
        for position, keys in enumerate(inputs):
            if keys is not None and keys.origin.used.any():
                consumed[position] = True if keys.places is None else keys.origin.used[keys.places]
        origins = {id(keys.origin): position for position, keys in enumerate(inputs) if keys is not None}
        fresh, moved, some = [], {}, {}
        for position, atom in enumerate(self._jaxpr.outvars):
            found = self._of(atom)
            if found is None:
                continue
            among = found.origin.among
            if id(found.origin) in origins:
                moved[position] = (origins[id(found.origin)], found.places)
            elif found.were_used():
                continue
            elif among is not None and id(among.origin) in origins:
                some[position] = origins[id(among.origin)]
            else:
                fresh.append(position)
        return KeyUse(consumed, tuple(fresh), moved, some)


def described(eqn: JaxprEqn) -> str:
    """An equation in a message: its primitive, and the line that made it."""
    name = eqn.primitive.name
    return name if eqn.source_info is None else f"{name} at {eqn.source_info.summarize()}"


# --- carriers of programs ---


def of_call(avals: Sequence[ShapedArray], program: ClosedJaxpr, first: int = 0) -> KeyUse:
    """The use of keys of a primitive that runs a program once, on the operands from `first` on.

    Parts of operands, as devices have them, count as the whole.
    """
    use = use_of_program(program)
    consumed = {}
    for position, which in use.consumes.items():
        if position + first < len(avals):
            whole = np.shape(which) == avals[position + first].shape
            consumed[position + first] = which if whole else True
    moved = {}
    for result, (operand, places) in use.moved.items():
        if operand + first < len(avals):
            known = places_of(avals[operand + first])
            fits = known is not None and program.in_avals[operand].shape == avals[operand + first].shape
            moved[result] = (operand + first, places if fits else None)
    some = {result: operand + first for result, operand in use.some.items() if operand + first < len(avals)}
    return KeyUse(consumed, use.fresh, moved, some)


KeyRule = Callable[..., KeyUse]


def fixed(use: KeyUse) -> KeyRule:
    """A rule that is the same for all operands and parameters."""
    return lambda avals, **params: use


NOTHING, MAKES = fixed(KeyUse()), fixed(KeyUse(fresh=(0,)))
SPLITS, SAME = fixed(KeyUse(consumes={0: True}, fresh=(0,))), fixed(KeyUse(moved={0: (0, None)}))


def consumes(avals: Sequence[ShapedArray], **_: object) -> KeyUse:
    """All keys that come in are used, and none goes out."""
    return KeyUse({position: True for position, aval in enumerate(avals) if is_key(aval)})


def _by_decomposition(primitive: Primitive) -> Any:
    decompose = primitive.decompose
    if decompose is None:
        return None

    def rule(avals: Sequence[ShapedArray], **params: object) -> KeyUse:
        def flat(*values: object) -> tuple[Array]:
            outs = decompose(*values, **params)
            return outs if primitive.multiple_results else (outs,)

        jaxpr, consts = trace_to_jaxpr(flat, avals, primitive.name)
        return use_of_program(ClosedJaxpr(jaxpr, consts))

    return rule


key_reuse = RuleKind(
    "key_reuse",
    api=1,
    signature="(avals, **params) -> KeyUse",
    doc="which random keys a primitive uses, which of its results are new keys, and which are keys that it was given",
    derive=_by_decomposition,
    default=lambda primitive: consumes,
)
key_checking = Transformation(
    "key_checking", api=1, kinds=(key_reuse,), doc="looks for random keys that are used twice"
)


def of_branches(avals: Sequence[ShapedArray], *, branches: tuple[ClosedJaxpr, ...], **_: object) -> KeyUse:
    """What some branch uses is used; what all of them make, or hand on, is new, or handed on."""
    uses = [of_call(avals, branch, first=1) for branch in branches]
    consumed: dict[int, Which] = {}
    for use in uses:
        for position, which in use.consumes.items():
            before = consumed.get(position, False)
            consumed[position] = True if which is True or before is True else np.logical_or(before, which)
    fresh = set.intersection(*[{*use.fresh, *use.some} for use in uses]) - {*_common_choices(uses)}
    moved = {
        result: one
        for result, one in uses[0].moved.items()
        if all([_agree(one, use.moved.get(result)) for use in uses[1:]])
    }
    return KeyUse(consumed, tuple(sorted(fresh)), moved, _common_choices(uses))


def _common_choices(uses: list[KeyUse]) -> dict[int, int]:
    """The results that are keys of one operand in all branches, new in none."""
    first, *others = [use.some.items() for use in uses]
    return dict(set(first).intersection(*others))


def _agree(one: tuple[int, Any], other: tuple[int, Any] | None) -> bool:
    return other is not None and one[0] == other[0] and np.array_equal(one[1], other[1])


def of_scan(
    avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, length: object, **_: object
) -> KeyUse:
    """A scan uses the keys that its body uses, once for each element."""
    use = use_of_program(jaxpr)
    if not (type(length) is int and length < 2):
        _check_body("scan", use, range(num_consts), {num_consts + at: at for at in range(num_carry)})
    first = num_consts + num_carry
    consumed = {at: which if at < first else True for at, which in use.consumes.items() if at < len(avals)}
    moved = {result: one for result, one in use.moved.items() if result < num_carry and one[0] < first}
    return KeyUse(consumed, (*use.fresh, *use.some), moved)


def of_while(
    avals: Sequence[ShapedArray],
    *,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
    **_: object,
) -> KeyUse:
    """A loop uses the keys that its condition and its body use, once for each time."""
    condition, body = use_of_program(cond_jaxpr), use_of_program(body_jaxpr)
    before = cond_nconsts + body_nconsts
    carried = range(len(avals) - before)
    _check_body("while_loop", condition, range(cond_nconsts), {})
    _check_body("while_loop", body, range(body_nconsts), {body_nconsts + at: at for at in carried})
    for at in carried:
        if cond_nconsts + at in condition.consumes and body_nconsts + at not in body.consumes and at not in body.fresh:
            raise _reused("while_loop", f"its condition uses the key that is carried at {at}, each time it is asked")
        if cond_nconsts + at in condition.consumes and body_nconsts + at in body.consumes:
            raise _reused("while_loop", f"its condition and its body both use the key that is carried at {at}")
    consumed = {before + at - body_nconsts: which for at, which in body.consumes.items() if at >= body_nconsts}
    consumed |= {before + at - cond_nconsts: which for at, which in condition.consumes.items() if at >= cond_nconsts}
    moved = {
        result: (operand - body_nconsts + before, places)
        for result, (operand, places) in body.moved.items()
        if operand >= body_nconsts
    }
    return KeyUse(consumed, (*body.fresh, *body.some), moved)


def _check_body(loop: str, use: KeyUse, consts: range, carried: dict[int, int]) -> None:
    """Raise KeyReuseError for a body that uses keys which it is given again the next time."""
    for at in consts:
        if at in use.consumes:
            raise _reused(loop, "what it repeats uses a key from outside of it each time")
    for operand, result in carried.items():
        if operand in use.consumes and result not in use.fresh and result not in use.some:
            raise _reused(
                loop, f"what it repeats uses the key that is carried at {result}, and returns no new one there"
            )


def _reused(loop: str, what: str) -> KeyReuseError:
    return KeyReuseError(
        f"{loop} uses a random key more than once: {what}. Carry a key, and split it each time: key, subkey = "
        "random.split(key); or loop over keys, random.split(key, length)"
    )


@api_boundary
def check_key_reuse(fun: Callable[..., object], /, *args: object) -> None:
    """Raise KeyReuseError if a function uses a random key twice. It is traced, and not run.

    Args:
        fun: a function of trees of arrays.
        args: its arguments: arrays, or `ShapeDtypeStruct`s.

    Raises:
        KeyReuseError: with the operations that use the key, and their lines.

    >>> import tangrad
    >>> from tangrad import random
    >>> from tangrad.experimental.key_reuse import check_key_reuse
    >>> check_key_reuse(lambda key: random.normal(key) + random.uniform(key), random.key(0))
    Traceback (most recent call last):
        ...
    tangrad.errors.KeyReuseError: a random key of type key<fry>[] is used a second time, by random_uniform ...
    """
    leaves, structure = array_leaves(args, "check_key_reuse: argument args")
    avals = [get_aval(as_operand(leaf)) for leaf in leaves]

    def flat(*values: object) -> list[Value]:
        return returned_leaves(fun(*structure.unflatten(values)), "check_key_reuse: the function")[0]

    jaxpr, consts = trace_to_jaxpr(flat, avals, getattr(fun, "__name__", type(fun).__name__))
    use_of_program(ClosedJaxpr(jaxpr, consts))
