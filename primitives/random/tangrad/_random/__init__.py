"""What `tangrad.random` is made of: modules for this distribution alone."""
