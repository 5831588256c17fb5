"""How weights run: the dense engine is the referee."""
