"""Help for people: errors that say what to write, tracebacks without our frames, source lines, leaks, NaN checks."""
