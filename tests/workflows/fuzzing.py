"""What tests of odd files share: how many examples, what is said of a file, and bytes that are damaged.

In the suite each property has a few examples; `DPREGRET_FUZZ=10000` tries as many as it says.
"""

import os
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

WANTED = os.environ.get("DPREGRET_FUZZ", "")


def fuzz(few: int) -> settings:
    """Settings of a property: so many examples in the suite. No deadline: the first may import or compile."""
    phases = set(Phase) - {Phase.explain, *([Phase.shrink] if WANTED else [])}
    return settings(
        max_examples=int(WANTED or few), deadline=None, phases=phases, suppress_health_check=list(HealthCheck)
    )


def refusal(load: Callable[[Path], object], path: Path, error: type[Exception] | tuple[type[Exception], ...]) -> str:
    """What is said of the file; nothing where it is accepted. Any other exception fails the test."""
    try:
        load(path)
    except error as fault:
        return str(fault)
    return ""


def check_words(said: str, name: str) -> None:
    """A refusal is lines of a length that can be read, and names the file."""
    assert not said or name in said
    assert "Traceback" not in said
    assert all(len(line) < 2000 for line in said.splitlines())


@st.composite
def damage(draw: st.DrawFn, content: bytes) -> bytes:
    """Bytes changed, put in, taken out, repeated or cut off, at up to four places."""
    made = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place, length = draw(st.integers(0, len(made))), draw(st.integers(1, 300))
        part = made[place : place + length]
        made[place : place + length] = draw(
            st.sampled_from([bytes(each ^ 1 for each in part[:1]) + part[1:], b"", b"7" + part, part * 2, bytes(part)])
            | st.binary(max_size=8)
        )
        if draw(st.integers(0, 9)) == 0:
            del made[place:]
    return bytes(made)
