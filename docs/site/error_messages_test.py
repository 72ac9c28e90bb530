"""Compares the messages of docs/errors.md with those of executed pages. error_messages_test.py ERRORS FAILURES

Each message in the first column of a table is in one of the two pages: in the commands' output on FAILURES, which a test
executes, or in a block of ERRORS, which another one does. "…" stands for any characters of a line.
"""

import re
import sys


def main():
    errors, failures = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
    printed = "".join(re.findall(r"^```text\n(.*?)^```", errors, re.M | re.S)) + failures
    messages = re.findall(r"^\| `([^`]+)` \|", errors, re.M)
    missing = []
    for message in messages:
        pattern = ".*?".join(re.escape(part) for part in message.split("…"))
        if not re.search(pattern, printed):
            missing.append(message)
    print("\n".join(f"no executed block prints: {message}" for message in missing))
    print(f"{len(messages)} messages, {len(missing)} of them missing")
    sys.exit(1 if missing or len(messages) < 20 else 0)


if __name__ == "__main__":
    main()
