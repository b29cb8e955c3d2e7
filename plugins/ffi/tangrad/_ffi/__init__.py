"""What `tangrad.ffi` is made of: modules for this distribution alone."""
