"""EKS's managed add-ons."""
