"""What `tangrad.nn.example_libraries` is made of: modules for this distribution alone."""
