"""Lowering rules, a file a family, found through entry points of group `tangrad.rules.lower.xla`, never imported."""
