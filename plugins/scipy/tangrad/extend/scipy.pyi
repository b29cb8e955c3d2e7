# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._scipy.definitions import (
    Definition as Definition,
    defined as defined,
)
from tangrad._scipy.distributions.records import (
    ANY as ANY,
    CHANCE as CHANCE,
    COUNT as COUNT,
    Distribution as Distribution,
    Domain as Domain,
    FRACTION as FRACTION,
    NOT_NEGATIVE as NOT_NEGATIVE,
    POSITIVE as POSITIVE,
    PROBABILITY as PROBABILITY,
    Parameter as Parameter,
    Support as Support,
    Unstandardised as Unstandardised,
    complement_of as complement_of,
    exp_of as exp_of,
    location as location,
    log_complement_of as log_complement_of,
    log_of as log_of,
    scale as scale,
)

__all__ = [
    "ANY",
    "CHANCE",
    "COUNT",
    "Definition",
    "Distribution",
    "Domain",
    "FRACTION",
    "NOT_NEGATIVE",
    "POSITIVE",
    "PROBABILITY",
    "Parameter",
    "Support",
    "Unstandardised",
    "complement_of",
    "defined",
    "exp_of",
    "location",
    "log_complement_of",
    "log_of",
    "scale",
]
