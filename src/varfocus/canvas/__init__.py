"""Where the pixels of a result live: in memory, or in tiles on disk."""
