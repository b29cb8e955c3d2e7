# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._core.composition.discovery import cache_folder as cache_folder
from tangrad._core.composition.hooks import hooks as hooks
from tangrad._core.composition.missing_names import (
    Explanations as Explanations,
    how_to_install as how_to_install,
)
from tangrad._core.composition.record import is_record as is_record
from tangrad._core.composition.registry import (
    Composition as Composition,
    Plugin as Plugin,
    configure_plugins as configure_plugins,
    plugin_manager as plugin_manager,
)
from tangrad._core.composition.versioning import EXTENSION_API as EXTENSION_API
from tangrad._core.diagnostics.errors import (
    mixed_backends as mixed_backends,
    unhashable_parameters as unhashable_parameters,
)
from tangrad._core.diagnostics.source_info import (
    NO_NAMES as NO_NAMES,
    SourceInfo as SourceInfo,
    is_internal as is_internal,
)
from tangrad._core.diagnostics.tracebacks import without_internal_frames as without_internal_frames
from tangrad._core.kernel.jaxpr import sub_jaxprs as sub_jaxprs
from tangrad._core.kernel.jaxpr_check import check_jaxpr as check_jaxpr
from tangrad._core.kernel.rules import (
    Cell as Cell,
    RuleTable as RuleTable,
    families as families,
    primitive_set as primitive_set,
    rule_kinds as rule_kinds,
)

__all__ = [
    "Cell",
    "Composition",
    "EXTENSION_API",
    "Explanations",
    "NO_NAMES",
    "Plugin",
    "RuleTable",
    "SourceInfo",
    "cache_folder",
    "check_jaxpr",
    "configure_plugins",
    "families",
    "hooks",
    "how_to_install",
    "is_internal",
    "is_record",
    "mixed_backends",
    "plugin_manager",
    "primitive_set",
    "rule_kinds",
    "sub_jaxprs",
    "unhashable_parameters",
    "without_internal_frames",
]
