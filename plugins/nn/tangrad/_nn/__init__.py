"""What `tangrad.nn` is made of: modules for this distribution alone."""
