"""The command `tangrad`: finds commands and runs them; its own say what is installed, as text, JSON, or a page."""
