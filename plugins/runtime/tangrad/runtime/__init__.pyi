# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.runtime.errors import ArtifactError as ArtifactError
from tangrad.runtime.limits import Limits as Limits
from tangrad.runtime.loading import load as load
from tangrad.runtime.saving import save as save

__all__ = [
    "ArtifactError",
    "Limits",
    "load",
    "save",
]
