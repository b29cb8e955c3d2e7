"""What `tangrad.compat` is made of: modules for this distribution alone."""
