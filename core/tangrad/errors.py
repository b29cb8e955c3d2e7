"""The errors and warnings that Tangrad raises, as users catch them: `except tangrad.errors.UnexpectedTracerError`."""

from tangrad._core.diagnostics.errors import ApiVersionError as ApiVersionError
from tangrad._core.diagnostics.errors import BackendError as BackendError
from tangrad._core.diagnostics.errors import BrokenPluginError as BrokenPluginError
from tangrad._core.diagnostics.errors import CallbackError as CallbackError
from tangrad._core.diagnostics.errors import ConcretizationTypeError as ConcretizationTypeError
from tangrad._core.diagnostics.errors import DeniedPluginError as DeniedPluginError
from tangrad._core.diagnostics.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from tangrad._core.diagnostics.errors import JAXIndexError as JAXIndexError
from tangrad._core.diagnostics.errors import JaxprTypeError as JaxprTypeError
from tangrad._core.diagnostics.errors import JAXTypeError as JAXTypeError
from tangrad._core.diagnostics.errors import LeakedTracerError as LeakedTracerError
from tangrad._core.diagnostics.errors import MissingDistributionError as MissingDistributionError
from tangrad._core.diagnostics.errors import MissingDistributionImportError as MissingDistributionImportError
from tangrad._core.diagnostics.errors import MissingRuleError as MissingRuleError
from tangrad._core.diagnostics.errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from tangrad._core.diagnostics.errors import PluginConflictError as PluginConflictError
from tangrad._core.diagnostics.errors import PluginError as PluginError
from tangrad._core.diagnostics.errors import PluginWarning as PluginWarning
from tangrad._core.diagnostics.errors import RefusedError as RefusedError
from tangrad._core.diagnostics.errors import TangradError as TangradError
from tangrad._core.diagnostics.errors import TracerArrayConversionError as TracerArrayConversionError
from tangrad._core.diagnostics.errors import TracerBoolConversionError as TracerBoolConversionError
from tangrad._core.diagnostics.errors import TracerError as TracerError
from tangrad._core.diagnostics.errors import TracerIntegerConversionError as TracerIntegerConversionError
from tangrad._core.diagnostics.errors import TypePromotionError as TypePromotionError
from tangrad._core.diagnostics.errors import UnexpectedTracerError as UnexpectedTracerError

# What JAX raises when a program fails while it runs is one of several classes here, with this one in common.
JaxRuntimeError = RuntimeError
