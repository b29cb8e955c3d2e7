"""What is installed, and how it comes together: discovery, plugins, policies, hooks, the public names.

`record`, `discovery`: the index of what is installed; `plugin`, `policy`, `registry`: which plugins there are, and
which may be used; `hooks`, `hook_names`: passes and observers; `api`, `catalogue`: public names, and who ships them.
"""
