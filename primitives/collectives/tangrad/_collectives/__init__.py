"""Collectives: what the examples along mapped axes compute together, by the names of these axes."""
