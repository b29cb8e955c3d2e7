"""What `tangrad.runtime` is made of: modules for this distribution alone."""
