"""What the archive says no to.

ArchiveError            anything below
├── NotFound            no such job, folder or code
├── Refused             what was asked or sent breaks a rule
├── FellSilent          what is followed tells nothing any more: ask again
└── Unavailable         the volume, or the archive itself, does not answer now
"""


class ArchiveError(Exception):
    """One sentence: what, the rule, the next step."""


class NotFound(ArchiveError):
    pass


class Refused(ArchiveError):
    pass


class FellSilent(ArchiveError):
    """Nothing has come of what was followed for so long that nobody may be there any more."""


class Unavailable(ArchiveError):
    pass
