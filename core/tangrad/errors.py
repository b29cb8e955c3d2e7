"""The errors and warnings that Tangrad raises, as users catch them: `except tangrad.errors.UnexpectedTracerError`."""

from tangrad.core.errors import ApiVersionError as ApiVersionError
from tangrad.core.errors import BackendError as BackendError
from tangrad.core.errors import BrokenPluginError as BrokenPluginError
from tangrad.core.errors import CallbackError as CallbackError
from tangrad.core.errors import ConcretizationTypeError as ConcretizationTypeError
from tangrad.core.errors import DeniedPluginError as DeniedPluginError
from tangrad.core.errors import JaxprTypeError as JaxprTypeError
from tangrad.core.errors import LeakedTracerError as LeakedTracerError
from tangrad.core.errors import MissingDistributionError as MissingDistributionError
from tangrad.core.errors import MissingDistributionImportError as MissingDistributionImportError
from tangrad.core.errors import MissingRuleError as MissingRuleError
from tangrad.core.errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from tangrad.core.errors import PluginConflictError as PluginConflictError
from tangrad.core.errors import PluginError as PluginError
from tangrad.core.errors import PluginWarning as PluginWarning
from tangrad.core.errors import TangradError as TangradError
from tangrad.core.errors import TracerArrayConversionError as TracerArrayConversionError
from tangrad.core.errors import TracerBoolConversionError as TracerBoolConversionError
from tangrad.core.errors import TracerError as TracerError
from tangrad.core.errors import TracerIntegerConversionError as TracerIntegerConversionError
from tangrad.core.errors import TypePromotionError as TypePromotionError
from tangrad.core.errors import UnexpectedTracerError as UnexpectedTracerError
