"""A Slurm cluster of one node that is this machine: munged, slurmctld and slurmd, started and ended with the test."""

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "sinfo")
SYSTEM_CONF = Path("/etc/slurm/slurm.conf")  # srun within a job looks nowhere else: the plugin clears SLURM_CONF
TEMPLATE = Path(__file__).with_name("slurm.conf")


def lacking() -> str | None:
    """What this machine lacks to start a node, None where it lacks nothing."""
    missing = [name for name in PROGRAMS if program(name) is None]
    if missing:
        return f"{', '.join(missing)} not found: apt-get install slurm-wlm munge"
    if os.geteuid() != 0:
        return "only root can start the daemons of Slurm"
    if SYSTEM_CONF.exists():
        return f"{SYSTEM_CONF} exists: this machine may be part of a real cluster"
    return None


def program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


class OneNode:
    """Use as a context manager; everything it writes but the link in /etc/slurm is below `state`."""

    def __init__(self, state: Path, cpus: int) -> None:
        self.state = state
        self.cpus = cpus
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "OneNode":
        self.state.chmod(0o755)
        for name in ("slurmctld", "slurmd"):
            (self.state / name).mkdir()
        key = self.state / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        conf = self.state / "slurm.conf"
        conf.write_text(
            TEMPLATE.read_text().format(
                host=socket.gethostname().split(".")[0], state=self.state, cpus=self.cpus, memory=self.cpus * 4000
            )
        )
        SYSTEM_CONF.parent.mkdir(exist_ok=True)
        SYSTEM_CONF.unlink(missing_ok=True)  # the dead link of a test that was killed
        SYSTEM_CONF.symlink_to(conf)
        try:
            names = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed"}
            options = [f"--{option}={self.state}/munge.{name}" for option, name in names.items()]
            self.start("munged", "--foreground", "--force", *options)
            wait_for((self.state / "munge.socket").exists, "munged")
            self.start("slurmctld", "-D")
            self.start("slurmd", "-D")
            wait_for(lambda: self.ask("sinfo", "-h", "-o", "%T") == "idle", "an idle node")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if "slurmctld" in self.daemons:
            for job in self.jobs():
                self.ask("scancel", job)
            for _attempt in range(40):
                if not self.jobs():
                    break
                time.sleep(0.25)
        for name in ("slurmd", "slurmctld", "munged"):
            self.stop(name)
        if SYSTEM_CONF.is_symlink():
            SYSTEM_CONF.unlink()

    def start(self, name: str, *arguments: str) -> None:
        with (self.state / f"{name}.out").open("ab") as out:
            self.daemons[name] = subprocess.Popen(
                [str(program(name)), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def stop(self, name: str) -> None:
        daemon = self.daemons.pop(name, None)
        if daemon is None:
            return
        daemon.terminate()
        try:
            daemon.wait(timeout=10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def crash_controller(self) -> None:
        """Kill slurmctld without warning and start it again; it finds in its state files what it knew."""
        time.sleep(6)  # it writes them every five seconds: a job that was sent since would be forgotten
        daemon = self.daemons.pop("slurmctld")
        daemon.kill()
        daemon.wait()
        time.sleep(2)
        self.start("slurmctld", "-D")
        wait_for(lambda: bool(self.ask("sinfo", "-h", "-o", "%T")), "slurmctld again")

    def ask(self, name: str, *arguments: str) -> str:
        done = subprocess.run([str(program(name)), *arguments], capture_output=True, text=True, timeout=30, check=False)
        return done.stdout.strip()

    def jobs(self, state: str = "PD,R,CG") -> list[str]:
        """The Slurm jobs in some states, the oldest first."""
        return sorted(self.ask("squeue", "-h", "-t", state, "-o", "%i").split(), key=int)


def wait_for(condition: Callable[[], object], what: str, seconds: float = 600.0) -> None:
    """A limit for what never comes, however busy the machine."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not seen within {seconds:g} s"
        time.sleep(0.2)
