"""What users write beside operations for the compiler alone: `experimental.xla_metadata`, `experimental.compute_on`."""
