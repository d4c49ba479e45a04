"""How much work a job keeps on a published trace of spot capacity, beside torchrun."""
