"""What outlives a job's pods: its ledger, its logs, the code that it ran, its checkpoints.

`python -m spotrain.archive` keeps ledger and logs on the volume and serves all of it over HTTP;
`folder.Folder` reads the same layout without a server, `client.Client` over HTTP.
"""
