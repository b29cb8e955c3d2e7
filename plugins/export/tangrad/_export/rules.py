"""What exported programs have no rules for, and why: the missing cells of the matrix, explained."""

from tangrad._export.primitives import call_exported_p
from tangrad.core import RuleSet

jvp, transpose = RuleSet("jvp", api=1), RuleSet("transpose", api=1)
batch, mask = RuleSet("batch", api=1), RuleSet("mask", api=1)

for _rules in (jvp, transpose):
    _rules.not_applicable("its derivative is another program, which a custom_vjp around the call runs", call_exported_p)
batch.not_applicable("a program for arguments of certain types is not mapped", call_exported_p)
mask.not_applicable("which of a program's results depend on padding is not known", call_exported_p)
