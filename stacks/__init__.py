"""What a person may set, what it costs, and how it becomes arguments of components."""
