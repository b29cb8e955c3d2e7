"""Products of arrays that are summed over shared dimensions: `dot_general` and what is said with it."""
