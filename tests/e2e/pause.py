"""How long a test waits between two checks of what it waits for."""
import time


def pause_after(asked):
    """s to the next look, where the last one began at `asked`: what takes long to ask is asked less often, so that the
    asking does not hold up what it waits for."""
    return min(max(0.03, 2 * (time.monotonic() - asked)), 2)
