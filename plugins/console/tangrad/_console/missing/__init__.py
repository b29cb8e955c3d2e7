"""What is ours and not installed: the catalogue of names, and the errors that say what to install or write instead."""
