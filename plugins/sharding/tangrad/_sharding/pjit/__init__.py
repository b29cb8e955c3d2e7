"""Compiled functions with shardings by their older name: what is behind `tangrad.experimental.pjit`. This file only
names the package."""
