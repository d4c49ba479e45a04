"""The controller's acceptance list: what it promises, which tests show it, and that they would
notice if it were not so.

`make acceptance` writes docs/acceptance.md; `python -m tests.acceptance --page` writes it without
trying the mutations anew.
"""
