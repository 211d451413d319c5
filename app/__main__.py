"""Start maskscope: ``python -m app``, or the console script ``maskscope``.

Kept light: the engine's process imports this module again when it is spawned.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import re
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Open the window or run a command.

    Returns
    -------
    int
        0 where all went well, 1 where something on this machine is wrong, 2 where the input
        cannot be; one sentence on the standard error says what.
    """
    from app.cli.output import Failure
    from app.cli.parser import parse
    from app.cli.window import check_alone

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # A screen that has no sign for a token shows "?".
    try:
        args = parse(argv)
        check_alone(args)
        code: int = args.command(args)
    except ValueError as error:
        return _told(_with_option(str(error)), 2)
    except Failure as error:
        return _told(str(error), 1)
    except MemoryError:
        return _told("This machine has not enough memory for that; take less.", 1)
    except BrokenPipeError:
        # The reader has seen enough; nothing may be flushed into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _told(f"{error.filename or 'A file'}: {error.strerror}.", 1)
    except KeyboardInterrupt:
        return _told("Stopped.", 130)
    return code


def _with_option(sentence: str) -> str:
    """A sentence that begins with a field, which is written as its option: top_k as top-k."""
    return re.sub(r"^[a-z_]+(?= is )", lambda field: field[0].replace("_", "-"), sentence)


def _told(sentence: str, code: int) -> int:
    sys.stderr.write(f"maskscope: {' '.join(sentence.split())}\n")
    return code


if __name__ == "__main__":
    multiprocessing.freeze_support()
    sys.exit(main())
