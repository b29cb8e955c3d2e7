# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._scipy.ode.integration import odeint as odeint

__all__ = [
    "odeint",
]
