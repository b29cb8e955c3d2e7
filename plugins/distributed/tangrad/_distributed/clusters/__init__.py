"""The clusters whose processes are told by environment variables, or by MPI, who they are."""
