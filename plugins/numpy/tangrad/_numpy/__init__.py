"""What `tangrad.numpy` is made of: modules for this distribution alone."""
