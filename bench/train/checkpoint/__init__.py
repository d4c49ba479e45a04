"""How long a checkpoint stops training, beside torch.save and dcp.async_save."""
