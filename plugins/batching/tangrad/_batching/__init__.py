"""What `tangrad.batching` is made of: modules for this distribution alone."""
