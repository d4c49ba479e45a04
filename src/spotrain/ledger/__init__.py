"""What a job did, kept and cost: pure calculations on records that others wrote."""
