"""Functions that say themselves how they are divided over devices: `experimental.custom_partitioning`."""
