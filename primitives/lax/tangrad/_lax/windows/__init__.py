"""Sliding windows: convolutions, reductions over windows, and what the derivative of max-pooling needs."""
