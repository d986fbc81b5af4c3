"""Says how long a test waits between two checks of what it waits for."""
import time


def pause_after(asked):
    """Seconds to the next query, if the last one began at `asked`: a query that takes long is made less often, so that
    it does not hold up what it waits for."""
    return min(max(0.03, 2 * (time.monotonic() - asked)), 2)
