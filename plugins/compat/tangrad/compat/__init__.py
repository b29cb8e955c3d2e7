"""Programs that were written for something else, run by Tangrad. Nothing here is imported unless it is asked for."""
