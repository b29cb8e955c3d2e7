"""The kernel: types, traces, programs, rules, compilation, and what arrays, devices, shardings and backends are."""
