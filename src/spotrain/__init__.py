"""spotrain: elastic PyTorch training on spot GPU nodes."""
