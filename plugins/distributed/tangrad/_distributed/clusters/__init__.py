"""The clusters whose processes are identified by environment variables, or by MPI."""
