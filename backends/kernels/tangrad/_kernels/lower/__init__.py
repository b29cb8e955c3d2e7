"""The rule sets, a file for each kind of rule."""
