"""The distributions of `tangrad.scipy.stats`: a record for each, from which its functions are made."""
