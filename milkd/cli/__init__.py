"""`milkctl`: every command is one call of the client and one way to print its answer."""
