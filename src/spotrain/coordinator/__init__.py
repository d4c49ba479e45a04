"""The coordinator: forms worlds for the agents of many jobs over one websocket each."""
