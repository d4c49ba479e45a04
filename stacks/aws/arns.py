"""What was meant by a text where AWS's own long name of a thing belongs."""

import re

SSO_ROLE = "AWSReservedSSO_"
"""How the names of IAM Identity Center's roles begin."""
SESSION = re.compile(
    r"arn:(?P<aws>aws[a-z-]*):sts::(?P<account>\d{12}):assumed-role/(?P<role>[^/]+)"
)
NAME = re.compile(r"[\w+=,.@-]{1,64}")


def principal(given: str) -> str | None:
    """Of a role or user."""
    if session := SESSION.match(given):
        role = session["role"]
        arn = f"arn:{session['aws']}:iam::{session['account']}:role/{role}"
        if role.startswith(SSO_ROLE):
            return f"this is a session, not the role: {role_command(role)} prints the role's ARN"
        return f"this is a session; write its role: {arn}"
    if ":group/" in given:
        return "name the role that members of the group take; groups cannot enter a cluster"
    if given.endswith(":root") or re.fullmatch(r"\d{12}", given):
        return "name a role or a user of the account; an account as a whole cannot enter"
    if ":instance-profile/" in given:
        return "write the ARN of the role in the instance profile"
    if NAME.fullmatch(given):
        return f"write its ARN: {role_command(given)} prints it (of a user: get-user --user-name)"
    return None


def role_command(role: str) -> str:
    """Prints a role's ARN, with its path."""
    return f"`aws iam get-role --role-name {role} --query Role.Arn`"


def file_system(given: str) -> str | None:
    """Of an EFS file system."""
    if re.fullmatch(r"fs-[0-9a-f]+", given):
        return (
            f"write its ARN: `aws efs describe-file-systems --file-system-id {given} "
            "--query FileSystems[0].FileSystemArn` prints it"
        )
    if "access-point" in given or given.startswith("fsap-"):
        return "name the file system, not an access point: the stack makes one of its own"
    return None


def security_group(given: str) -> str | None:
    """The id of one."""
    if found := re.search(r"security-group/(sg-[0-9a-f]+)$", given):
        return f"write {found[1]}"
    if NAME.fullmatch(given) and not given.startswith("sg-"):
        return (
            f"write its id: `aws ec2 describe-security-groups --filters "
            f"Name=group-name,Values={given} --query SecurityGroups[].GroupId` prints it"
        )
    return None
