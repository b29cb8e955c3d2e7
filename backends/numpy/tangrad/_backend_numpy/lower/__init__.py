"""The rules of kind `lower.numpy`, a module for each family of primitives. This file only makes it a package."""
