"""`jax.extend.source_info_util`: places in programs."""

from tangrad._compat.names._src.traceback_util import register_exclusion as register_exclusion
from tangrad.core import current_source as current
from tangrad.core.tools import SourceInfo as SourceInfo
