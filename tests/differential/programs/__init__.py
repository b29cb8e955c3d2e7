"""The corpus, by subject. Every module here is imported, and every function decorated with `program` is run."""
