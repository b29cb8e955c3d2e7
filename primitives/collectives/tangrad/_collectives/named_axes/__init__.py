"""Named axes of programs: the rule kind `axis_subst`, and other names for the axes that a whole program uses."""

from tangrad._collectives.named_axes.binders import subst_under_binder as subst_under_binder
from tangrad._collectives.named_axes.functions import RenamedFunction as RenamedFunction
from tangrad._collectives.named_axes.names import Substitution as Substitution
from tangrad._collectives.named_axes.names import as_substitution as as_substitution
from tangrad._collectives.named_axes.names import renamed_axes as renamed_axes
from tangrad._collectives.named_axes.names import used_axis_names as used_axis_names
from tangrad._collectives.named_axes.substitution import subst_axis_names as subst_axis_names
