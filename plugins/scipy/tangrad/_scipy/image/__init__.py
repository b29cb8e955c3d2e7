"""What `tangrad.scipy.image` is made of: modules for this distribution alone."""
