"""Plants: what is integrated. The reference problems, a user's own by address, and the dispatch over their kinds."""
