"""Stack files of Google Cloud: what they may say, what it costs, and how it becomes arguments."""
