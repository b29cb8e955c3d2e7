"""The functions of `tangrad.scipy.special`; a file for each group."""
