"""What primitives make of sparse operands: rules of the kind `sparse`, a module for each family."""
