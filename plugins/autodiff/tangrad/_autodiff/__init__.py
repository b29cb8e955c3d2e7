"""What `tangrad.autodiff` is made of: modules for this distribution alone."""
