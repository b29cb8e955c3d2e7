"""What `tangrad.lax` is made of: modules for this distribution alone."""
