"""The commands of this distribution, a file each; found by their entry points, like those of others."""
