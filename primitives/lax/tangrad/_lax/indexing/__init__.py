"""Gathering slices from arrays and scattering updates into them. This file only names the family."""
