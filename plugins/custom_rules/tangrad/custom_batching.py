"""Functions whose author defines how they are mapped."""

from tangrad._custom_rules.mapped import custom_vmap as custom_vmap
from tangrad._custom_rules.mapped import sequential_vmap as sequential_vmap
