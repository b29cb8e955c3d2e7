"""Interval bounds: what a function can return at most and at least, for arguments between bounds."""
