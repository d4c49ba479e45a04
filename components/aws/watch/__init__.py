"""Who is told what: logs, messages, budget."""
