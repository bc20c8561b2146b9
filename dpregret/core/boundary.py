"""The boundary of every command: an exception is one line on standard error (a line for each mistake), exit code 2.

Exit codes: 0 done or kept, 1 violated or differs, 2 could not be judged, 130 interrupted, 141 the reader of the output
has gone (as `head` does; nothing is printed then, and that is the code of `cat` and `git`, too). `--debug` shows the
traceback too. `--json` prints the answer as JSON.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import select
import sys
import traceback
from collections.abc import Callable
from typing import Any, Final, NoReturn

from dpregret.core.errors import ConfigError, one_line, printable_line

FAILED: Final = 2
INTERRUPTED: Final = 130
UNREAD: Final = 141
DEBUG: Final = "--debug"
PARSER: Final[dict[str, Any]] = {
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 120},
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
}
"""Settings of every parser of options."""


def end(command: Callable[[], object]) -> NoReturn:
    """Call a command and end the process with the exit code that it returns (None: 0).

    A command whose output cannot be written (closed, full) has failed, whatever it returned.
    """
    debug = DEBUG in sys.argv
    sys.argv = [word for word in sys.argv if word != DEBUG]
    code: Any = FAILED
    try:
        _open_streams()
        try:
            code = command()
        except SystemExit as exit_request:
            if isinstance(exit_request.__context__, OSError):  # raised by a parser of options for a closed pipe
                raise exit_request.__context__ from None
            code = exit_request.code
        sys.stdout.flush()
    except BaseException as error:
        unread = isinstance(error, BrokenPipeError) and _reader_has_gone()
        code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else UNREAD if unread else FAILED
        with contextlib.suppress(OSError, ValueError):
            if debug:
                traceback.print_exc()
            if debug or not unread:
                for line in error.problems if isinstance(error, ConfigError) else (as_text(error),):
                    print(printable_line(f"dpregret: {line}"), file=sys.stderr)
    finally:
        _close_streams()
    sys.exit(code)


def run(function: Callable[..., object]) -> NoReturn:
    """Be the command `python -m MODULE`, whose options are the signature of a function."""
    end(lambda: parsed(function, sys.argv[1:]))


def parsed(function: Callable[..., object], words: list[str]) -> object:
    """Call a function with the arguments that its signature finds in words."""
    import typer

    app = typer.Typer(add_completion=False, **PARSER)
    app.command()(function)
    return app(words, standalone_mode=False)


def as_text(error: BaseException) -> str:
    """One line about an error: its message, with its type unless it is an error of this project."""
    format_message = getattr(error, "format_message", None)  # of the parser of options
    if format_message is not None:
        context = getattr(error, "ctx", None)
        command = f"{context.info_name}: " if context is not None and context.parent is not None else ""
        listed = "commands" if hasattr(getattr(context, "command", None), "commands") else "options"
        # a value that is no number, or not within bounds
        refused: list[Any] = getattr(error.__cause__, "errors", list)()
        given = f", not {refused[0]['input']!r}" if refused else ""
        said = re.sub(", unable to parse .*", "", format_message().replace("Input should be", "must be"))
        return f"{command}{' '.join(said.split())}{given} (--help lists the {listed})"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else f"cannot read or write: {error.strerror}"
    message = one_line(error)
    if isinstance(error, ValueError) and type(error).__module__.startswith("dpregret."):
        return message
    return f"{type(error).__name__}{': ' * bool(message)}{message} ({DEBUG} shows where)"


def plain(value: Any) -> Any:
    """An answer in types of JSON: infinite and unknown numbers are null, a frame is a list of its rows."""
    from pydantic_core import to_jsonable_python

    def fallback(value: Any) -> Any:
        return value.to_dict("records") if hasattr(value, "to_dict") else value.tolist()

    return to_jsonable_python(value, inf_nan_mode="null", fallback=fallback)


def as_json(value: Any) -> str:
    """JSON text of an answer, with a line break at its end."""
    return json.dumps(plain(value), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _open_streams() -> None:
    """Standard streams that show every character in some way; no file that is opened later takes a closed one's place.

    Raises OSError where standard output is closed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        raise OSError(errno.EBADF, "standard output is closed")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _reader_has_gone() -> bool:
    """Whether nobody reads standard output any more, as after `| head`; a pipe to another process may break, too."""
    output = select.poll()
    output.register(1, 0)
    return bool(output.poll(0))


def _close_streams() -> None:
    """Discard unwritten output, because the end of the process would try to write it again."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
