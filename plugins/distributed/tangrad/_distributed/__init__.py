"""Several processes that compute together: how they find each other, notice losses, and exchange values."""
