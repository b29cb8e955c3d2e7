"""Recording what programs do: what is behind `tangrad.profiler`. This file only names the package."""
