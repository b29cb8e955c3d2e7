"""Moving arrays between devices. This file only names the family."""
