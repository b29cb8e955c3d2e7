"""The documentation's own tools: reference pages made of the docstrings, and the theme. `mkdocs.yml` names the hook."""
