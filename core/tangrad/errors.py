"""The errors and warnings that Tangrad raises, as users catch them: `except tangrad.errors.UnexpectedTracerError`."""

from tangrad.diagnostics.errors import ApiVersionError as ApiVersionError
from tangrad.diagnostics.errors import BackendError as BackendError
from tangrad.diagnostics.errors import BrokenPluginError as BrokenPluginError
from tangrad.diagnostics.errors import CallbackError as CallbackError
from tangrad.diagnostics.errors import ConcretizationTypeError as ConcretizationTypeError
from tangrad.diagnostics.errors import DeniedPluginError as DeniedPluginError
from tangrad.diagnostics.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from tangrad.diagnostics.errors import JAXIndexError as JAXIndexError
from tangrad.diagnostics.errors import JaxprTypeError as JaxprTypeError
from tangrad.diagnostics.errors import JAXTypeError as JAXTypeError
from tangrad.diagnostics.errors import LeakedTracerError as LeakedTracerError
from tangrad.diagnostics.errors import MissingDistributionError as MissingDistributionError
from tangrad.diagnostics.errors import MissingDistributionImportError as MissingDistributionImportError
from tangrad.diagnostics.errors import MissingRuleError as MissingRuleError
from tangrad.diagnostics.errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from tangrad.diagnostics.errors import PluginConflictError as PluginConflictError
from tangrad.diagnostics.errors import PluginError as PluginError
from tangrad.diagnostics.errors import PluginWarning as PluginWarning
from tangrad.diagnostics.errors import RefusedError as RefusedError
from tangrad.diagnostics.errors import TangradError as TangradError
from tangrad.diagnostics.errors import TracerArrayConversionError as TracerArrayConversionError
from tangrad.diagnostics.errors import TracerBoolConversionError as TracerBoolConversionError
from tangrad.diagnostics.errors import TracerError as TracerError
from tangrad.diagnostics.errors import TracerIntegerConversionError as TracerIntegerConversionError
from tangrad.diagnostics.errors import TypePromotionError as TypePromotionError
from tangrad.diagnostics.errors import UnexpectedTracerError as UnexpectedTracerError

# What JAX raises when a program fails while it runs is one of several classes here, with this one in common.
JaxRuntimeError = RuntimeError
