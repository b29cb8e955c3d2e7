"""What `tangrad.conformance` is made of: modules for this distribution alone."""
