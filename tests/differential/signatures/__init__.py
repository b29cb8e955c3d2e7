"""Signatures beside JAX's: which calls that it accepts are not accepted here."""
