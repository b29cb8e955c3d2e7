"""Functions mapped over devices along an axis of their arguments: what is behind `tangrad.pmap`. This file only names
the package."""
