"""SIGTERM and SIGINT: noted when they come, obeyed when the chunk in hand is done.

Python runs a signal's handler between two steps of the main thread, which may be in the compiler
or on a device for minutes. So the signals are read by a thread of their own, which also ends the
process where the main thread does not come to it in time.
"""

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

SIGNALS = (signal.SIGTERM, signal.SIGINT)
PATIENCE = 8.0  # seconds for the chunk in hand and its checkpoint; ten are promised in all

_asked: list[int] = []
_listening: list[int] = []  # the process that does; a forked child has not its thread


def asked() -> bool:
    """Whether this process has been asked to stop."""
    return bool(_asked)


def status() -> int:
    """The exit status of a process that was asked to stop: 143 for SIGTERM, 130 for SIGINT."""
    return 128 + _asked[0]


def at_once() -> None:
    """SIGTERM ends the process with its status, as SIGINT does: before anything is written."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


@contextmanager
def listening(
    say: Callable[[str], None], then: str, others: Callable[[], list[int]] = list
) -> Iterator[None]:
    """Notes the signals that come in the meantime; a second SIGINT ends the process at once.

    Where somebody listens already, or outside of the main thread, it changes nothing.

    Args:
      then: how to go on, which is said when the first signal comes.
      others: processes that work for this one, to which SIGTERM is passed on. (SIGINT reaches
        them from the terminal.)
    """
    if _listening == [os.getpid()] or threading.current_thread() is not threading.main_thread():
        yield
        return
    ear, mouth = socket.socketpair()  # as Windows' `select` knows no pipes
    mouth.setblocking(False)
    before = {number: signal.signal(number, lambda *_: None) for number in SIGNALS}
    known = signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=_attend, args=(ear, say, then, others), daemon=True)
    thread.start()
    _listening[:] = [os.getpid()]
    try:
        yield
    finally:
        _listening.clear()
        signal.set_wakeup_fd(known)
        for number, handler in before.items():
            signal.signal(number, handler)
        mouth.close()  # the thread reads the end
        thread.join()
        ear.close()


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Whether SIGINT has come, for a caller who goes on afterwards, as in a notebook.

    The first one is noted, so that the chunk in hand can be finished; a second one raises
    KeyboardInterrupt where the program stands. Outside of the main thread nobody hears it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    came: list[int] = []

    def note(number: int, frame: object) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(came)
    finally:
        signal.signal(signal.SIGINT, before)


def _attend(
    ear: socket.socket, say: Callable[[str], None], then: str, others: Callable[[], list[int]]
) -> None:
    deadline = None
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([ear], [], [], left)[0]:
            say("the chunk in hand takes too long: left with the last checkpoint")
            _leave(status())
        numbers = ear.recv(64)
        if not numbers:
            return
        for number in numbers:
            if number == signal.SIGINT and _asked:
                _leave(128 + signal.SIGINT)
            if number in SIGNALS and not _asked:
                _asked.append(number)
                deadline = time.monotonic() + PATIENCE
                name = signal.Signals(number).name
                for process in others() if number == signal.SIGTERM else []:
                    with suppress(ProcessLookupError):
                        os.kill(process, number)
                say(f"{name}: stopping when the chunk in hand is done; {then}")


def _leave(status: int) -> None:
    """Ends the process where it stands. Whatever it was writing is whole or absent."""
    sys.stderr.flush()
    os._exit(status)
