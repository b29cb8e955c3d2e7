"""Settings: how a distribution defines one, reads it, and what belongs to the keys of caches."""

from tangrad._core.composition.doors import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.kernel.all_settings": "ForeignNames usable_settings",
        "tangrad._core.settings.config": (
            "cache_context check_optional_positive check_optional_text define_choice define_flag "
            "define_setting is_checking_values one_of optional_text Setting SETTINGS shared"
        ),
    },
)
