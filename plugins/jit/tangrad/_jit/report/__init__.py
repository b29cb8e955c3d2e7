"""What compiling a program took, and what became of it: `compiled.report()`."""
