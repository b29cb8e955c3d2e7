"""Parts of a program that are equal are compiled once: a pass over jaxprs, before backends get them."""
