"""How what belongs to transformations is said in primitives that saved programs have: a file for each family."""
