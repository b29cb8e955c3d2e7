"""Tables by class of values, which packages fill that have arrays of their own: the type of such a value, and how it
becomes an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import numpy as np

from tangrad import typeof
from tangrad.core import dtypes, register_aval_handler

Rule = Callable[..., Any]

# The classes that have rules without being registered -> what a value of a class like them is as one of them.
KNOWN: dict[type, Rule] = {np.ndarray: np.asarray, np.generic: np.asarray}
KNOWN.update({kind: kind for kind in dtypes.python_scalar_dtypes})


class AvalRules(MutableMapping[type, Rule]):
    """The function from values of a class to their types. With one that is assigned, such values are operands."""

    def __init__(self) -> None:
        self._rules: dict[type, Rule] = {kind: _type_as(of) for kind, of in KNOWN.items()}

    def __getitem__(self, kind: type) -> Rule:
        return self._rules[kind]

    def __setitem__(self, kind: type, rule: Rule) -> None:
        register_aval_handler(kind, rule)
        self._rules[kind] = rule

    def __delitem__(self, kind: type) -> None:
        raise TypeError(f"the type of values of {kind.__name__} cannot be made unknown again")

    def __iter__(self) -> Iterator[type]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)


def _type_as(known: Rule) -> Rule:
    return lambda value: typeof(known(value))


class Conversions(dict[type, Rule]):
    """How values of a class become arrays: by NumPy's `__array__` for those that have no rule here.

    One is assigned that stands here already. Raises NotImplementedError for another.
    """

    def __setitem__(self, kind: type, rule: Rule) -> None:
        if rule not in self.values():
            raise NotImplementedError(
                f"values of {kind.__name__} become arrays by their `__array__` in Tangrad, of which 'jax' is an alias "
                f"here (tangrad.compat.jax), not by {rule!r}"
            )
        super().__setitem__(kind, rule)


aval_rules = AvalRules()
conversions = Conversions(KNOWN)
