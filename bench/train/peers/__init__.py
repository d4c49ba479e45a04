"""Ours beside torchrun: the same work under each launcher, interrupted in the same ways.

`launchers` says who takes part, `team` runs the workers of one trial and interrupts them, every
rank writes down its steps (`steps`), and `pauses` makes pauses and lost steps of them.
"""
