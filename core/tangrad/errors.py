"""The errors and warnings that Tangrad raises, as users catch them: `except tangrad.errors.UnexpectedTracerError`."""

from tangrad._core.composition.doors import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.diagnostics.errors": (
            "ApiVersionError ArgumentError BackendError BrokenPluginError CallbackError ConcretizationTypeError "
            "DeniedPluginError InconclusiveDimensionOperation JaxprTypeError JaxRuntimeError "
            "KeyReuseError LeakedTracerError MissingDistributionError MissingDistributionImportError "
            "MissingRuleError NonConcreteBooleanIndexError PluginConflictError PluginError PluginWarning "
            "RefusedError TangradError TracerArrayConversionError TracerBoolConversionError TracerError "
            "TracerIndexError TracerIntegerConversionError TracerTypeError TypePromotionError UnexpectedTracerError"
        )
    },
    renamed={"JAXIndexError": "TracerIndexError", "JAXTypeError": "TracerTypeError"},
)
