"""References: mutable cells over arrays, in programs turned into values that control flow carries along."""
