"""What `tangrad.dtypes` is made of: modules for this distribution alone."""
