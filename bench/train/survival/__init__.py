"""What a job lives through without anybody's help, beside torchrun."""
