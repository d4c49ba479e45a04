"""How fast the controller is, beside clients that do the same work without deciding anything."""
