"""Stack files of AWS: what they may say, what it costs, and how it becomes AWS arguments."""
