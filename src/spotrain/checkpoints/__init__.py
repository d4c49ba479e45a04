"""Checkpoints as files: which there are, whether they are whole, which may go. No PyTorch.

`spotrain.train` writes them and reads the state in them; whoever only looks after them needs this.
"""
