"""Lowering rules, a file a family. Nobody imports them: entry points of group `tangrad.rules.lower.xla` name them."""
