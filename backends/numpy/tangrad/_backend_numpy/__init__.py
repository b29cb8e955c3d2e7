"""The NumPy backend. This file only hands names on."""
