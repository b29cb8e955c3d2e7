"""Writes packages that extend Tangrad: the command `tangrad new`, and its templates."""

from tangrad.scaffold.naming import Names as Names
from tangrad.scaffold.naming import names_for as names_for
from tangrad.scaffold.rendering import KINDS as KINDS
from tangrad.scaffold.rendering import render as render
from tangrad.scaffold.writing import check_free as check_free
from tangrad.scaffold.writing import write as write
