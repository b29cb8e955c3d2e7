"""Functions whose derivatives their author writes. This file only hands names on."""

from tangrad.custom_rules.zeros import SymbolicZero as SymbolicZero
