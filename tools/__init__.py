"""Tools of the workspace: none of them is shipped."""
