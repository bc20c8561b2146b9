"""What Snakemake starts for a job: asks the server of the run for a process, waits for it, and ends as it ended.

Started with ``-I -S`` and importing next to nothing, since this is what a job costs beside its work. Where nobody
answers, or the server knows only code that has been edited since, this process becomes the job.

The wire: a length of 8 bytes, then working folder, number of words, words and environment, separated by NUL, and with
them the three standard streams; afterwards numbers of signals for the job, one byte each. The answer is the job's wait
status in 4 bytes, or none: nobody has done it.
"""

import os
import signal
import socket
import sys
import time

ADDRESS = "DPREGRET_JOBS"  # name in the environment; a path from the folder of the run on
STREAMS = (0, 1, 2)
PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h
SECONDS_TO_DIE = 0.1  # between the end of a process' files and that of the process
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT) if hasattr(signal, "SIGHUP") else ()
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def request(words: list[str]) -> bytes:
    """The message that asks for a job."""
    environment = [f"{name}={value}" for name, value in os.environ.items()]
    parts = [os.getcwd(), str(len(words)), *words, *environment]
    body = b"\0".join(os.fsencode(part) for part in parts)
    return len(body).to_bytes(8, "big") + body


def ask(address: str, words: list[str]) -> int | None:
    """Exit code of the job that the server of `address` has done; None: nobody has, and nobody asked to end it."""
    signals: list[int] = []
    with socket.socket(socket.AF_UNIX) as server:

        def pass_on(number: int, _: object) -> None:
            signals.append(number)
            server.send(bytes([number]))

        try:
            server.connect(address)
            message = request(words)
            sent = socket.send_fds(server, [message], STREAMS)
            server.sendall(message[sent:])
            for number in PASSED_ON:
                signal.signal(number, pass_on)
            answer = b""
            while len(answer) < 4 and (part := server.recv(4 - len(answer))):
                answer += part
        except OSError:
            answer = b""
        finally:
            for number in PASSED_ON:
                signal.signal(number, signal.SIG_DFL)
    if len(answer) < 4:
        return 128 + signals[0] if signals else None
    code = os.waitstatus_to_exitcode(int.from_bytes(answer, "big"))
    return code if code >= 0 else 128 - code


def become(words: list[str], parent: int) -> None:
    """Do the job in a fresh interpreter, which takes the place of this process and ends with its parent."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-P", "-m", "dpregret.workflows.task", *words]
    os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": path})


def main() -> None:
    """Do the job that the command line names."""
    words, parent = sys.argv[1:], os.getppid()
    address = os.environ.get(ADDRESS)
    code = ask(address, words) if address else None
    if code is None:
        if address:
            time.sleep(SECONDS_TO_DIE)  # if the run was killed, the server has ended with it
        become(words, parent)
    sys.exit(code)


if __name__ == "__main__":
    main()
