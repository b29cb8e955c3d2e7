"""What the command `tangrad` reports: plugins, rules, the state of the installation; as text, JSON, or a page."""
