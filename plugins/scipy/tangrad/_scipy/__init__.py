"""What `tangrad.scipy` is made of: modules for this distribution alone."""
