"""`experimental.roofline`: floating-point operations and bytes of programs, counted by the rules of primitives."""
