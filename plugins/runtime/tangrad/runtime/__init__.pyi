# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._runtime.errors import ArtifactError as ArtifactError
from tangrad._runtime.limits import Limits as Limits
from tangrad._runtime.loading import load as load
from tangrad._runtime.saving import save as save

__all__ = [
    "ArtifactError",
    "Limits",
    "load",
    "save",
]
