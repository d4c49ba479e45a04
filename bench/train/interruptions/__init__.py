"""What an interruption costs, ours beside torchrun: `loss` without notice, `planned` with it."""
