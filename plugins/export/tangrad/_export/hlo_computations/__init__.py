"""The programs that XLA gets: what is behind `tangrad.xla_computation`. This file only names the package."""
