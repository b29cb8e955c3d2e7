"""Functions whose derivatives their author writes. This file only hands names on."""

from tangrad._custom_rules.zeros import SymbolicZero as SymbolicZero
