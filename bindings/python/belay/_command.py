"""The `belay` command, in this process."""

import ctypes
import os
import sys


def main() -> int:
    from ._library import lib, require_compiler

    require_compiler("the command")
    arguments = [b"belay"] + [os.fsencode(argument) for argument in sys.argv[1:]]
    array = (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None)
    # Interrupts end the process, as for any command.
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return lib.belay_command_line(len(arguments), array)


if __name__ == "__main__":
    sys.exit(main())
