"""Writes packages that extend Tangrad: the command `tangrad new`, and its templates."""

from tangrad._conformance.scaffold.naming import Names as Names
from tangrad._conformance.scaffold.naming import names_for as names_for
from tangrad._conformance.scaffold.rendering import KINDS as KINDS
from tangrad._conformance.scaffold.rendering import render as render
from tangrad._conformance.scaffold.writing import check_free as check_free
from tangrad._conformance.scaffold.writing import write as write
