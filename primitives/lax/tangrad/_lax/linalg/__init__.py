"""What `tangrad.lax.linalg` is made of: modules for this distribution alone."""
