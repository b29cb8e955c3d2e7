"""The distributions: what is drawn from keys. Each file holds the programs, primitives and functions of one topic."""
