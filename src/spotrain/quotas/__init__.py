"""Names of the clouds' quotas, and what nodes draw on them.

One table for `spotrain doctor`, which judges what an account has, and for a stack's preview, which
tells what to ask for before there is anything. Knows no account, no stack and no client.
"""
