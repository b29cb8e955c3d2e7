"""Staging out and compilation: `tangrad.jit` and what belongs to it. This file only names the package."""
