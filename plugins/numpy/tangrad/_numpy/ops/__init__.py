"""What `tangrad.numpy.ops` is made of: modules for this distribution alone."""
