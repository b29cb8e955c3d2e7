"""The XLA backend. This file only hands names on."""
