"""Can the judge be trusted? It is held against people's labels and against tests made for it."""
