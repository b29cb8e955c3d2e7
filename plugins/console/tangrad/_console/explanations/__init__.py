"""What errors say beyond what the kernel knows: the catalogue of names, what to write instead, who holds a tracer."""
