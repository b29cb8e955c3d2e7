"""What `tangrad.tree` is made of: modules for this distribution alone."""
