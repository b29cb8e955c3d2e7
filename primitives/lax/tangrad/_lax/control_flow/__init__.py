"""Control flow inside programs: conditionals, loops, scans. The public names are those of `tangrad.lax`."""
