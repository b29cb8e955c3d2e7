"""The distributions of `tangrad.scipy.stats`; a file for each."""
