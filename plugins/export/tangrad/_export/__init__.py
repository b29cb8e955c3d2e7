"""Programs as StableHLO: exporting, calling, writing and reading them."""
