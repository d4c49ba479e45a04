"""What the archive says no to.

ArchiveError            anything below
├── NotFound            no such job, folder or code
├── Refused             what was asked or sent breaks a rule
└── Unavailable         the volume, or the archive itself, does not answer now
"""


class ArchiveError(Exception):
    """One sentence: what, the rule, the next step."""


class NotFound(ArchiveError):
    pass


class Refused(ArchiveError):
    pass


class Unavailable(ArchiveError):
    pass
