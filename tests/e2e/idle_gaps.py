"""idle_gaps.py - the parts of each gap of a GPU by cause and line, computed only from a session's log.

docs/report.md and src/analyze/model/idle/idle.h have the rules. This is a second implementation of these rules for tests: simple
lists and searches, one GPU at a time, no limits. `Gaps(log, begins)` needs a Log (longest.py); begins: ns, where the steady
part begins, or None."""
import bisect
import collections
import itertools

PYTHON = 2
BACK_TO_BACK, LAUNCHES, WORK, LATENCY = 4_000, 100_000, 10_000_000, 20_000
LOOKS_LEAST, POOL_LEAST, TRUSTED, SUMS = 5, 3, 20, 2
BURST_LEAST, BURST_MOST, BURST_EACH = 8, 64, 10_000
STREAM_WAIT = 2
CAUSES = {5: "copy", 6: "copy", 7: "memory", 8: "memory", 9: "code"}
BLOCKED = 3

Gap = collections.namedtuple("Gap", "start end")
Done = collections.namedtuple("Done", "end newest")  # the work before a gap


def later(a, b):
    """Returns True if correlation a is later than b; ids begin again at 2^32."""
    return bool(a and b) and 0 < (a - b) % (1 << 32) < 1 << 31


class Span:
    def __init__(self, row):
        self.start, self.end, self.count = row["start"], row["start"] + row["duration"], 1
        self.first = self.newest = row.get("correlation") or 0
        self.thread, self.stack = row.get("thread") or 0, row.get("stack") or 0

    def join(self, b):
        if b.start == self.start and (not self.first or later(self.first, b.first)):
            self.first, self.thread, self.stack = b.first, b.thread, b.stack
        self.count += b.count
        self.end = max(self.end, b.end)
        if not self.newest or later(b.newest, self.newest):
            self.newest = b.newest


class Launches:
    """Rows of `launch`, by thread and by correlation."""

    def __init__(self, rows):
        key = lambda row: (row["correlation"] or 0, row["start"])
        self.order = sorted(rows, key=key)
        self.keys = [key(row) for row in self.order]
        self.of = collections.defaultdict(list)
        for row in sorted(rows, key=lambda row: row["start"]):
            self.of[row["thread"]].append(row)
        self.starts = {thread: [row["start"] for row in list_] for thread, list_ in self.of.items()}
        self.only = next(iter(self.of)) if len(self.of) == 1 else 0
        tested = [(row, self.between(*around)) for row, around in
                  zip(self.order[1:], zip(self.order, self.order[2:])) if row["why"] == SUMS and row["correlation"]]
        tested = [(row, found) for row, found in tested if found]
        self.trusted = tested and sum(row["thread"] != found["thread"] for row, found in tested) * TRUSTED <= len(tested)

    @staticmethod
    def between(before, after):
        known = before["thread"] and after["thread"]
        return before if known and (before["thread"] == after["thread"] or after["why"] != SUMS) else None

    def find(self, correlation, until):
        at = bisect.bisect_left(self.keys, (correlation, until)) if correlation else 0
        return self.order[at - 1] if at and self.keys[at - 1][0] == correlation else None

    def next(self, thread, correlation, until):
        rows = self.of.get(thread, ()) if thread and correlation else ()
        at = bisect.bisect_left(self.starts.get(thread, ()), until) if rows else 0
        while at and later(rows[at - 1]["correlation"], correlation):
            at -= 1
        return rows[at] if at < len(rows) else None

    def around(self, correlation, until):
        at = bisect.bisect_left(self.keys, (correlation, 1 << 63))
        if not correlation or not at or at == len(self.order) or not self.trusted:
            return None
        before = self.order[at - 1]
        found = self.between(before, self.order[at])
        if not found or not before["correlation"] or before["start"] >= until:
            return None
        return self.next(found["thread"], correlation, until) or found

    def closing(self, row):
        """The first row of the thread from this one on that sums up."""
        rows = self.of[row["thread"]]
        at = bisect.bisect_left(self.starts[row["thread"]], row["start"])
        return next((one for one in itertools.islice(rows, at, None) if one["why"] == SUMS), None)


class Blame:
    """One gap while its causes are looked for."""

    def __init__(self, gaps, device, before, spans, at, start):
        self.g, self.before, self.after, self.spans, self.at = gaps, before, spans[at], spans, at
        self.start, self.end = start, spans[at].start
        self.gap, self.left = Gap(self.start, self.end), self.end - self.start
        launches, first = gaps.launches, self.after.first
        self.launch = launches.find(first, self.end)
        named = (self.launch or {}).get("thread") or self.after.thread
        self.calls = gaps.calls.get(named) if named else self.launcher()
        self.thread = named or (self.calls[0]["thread"] if self.calls else launches.only)
        self.following = self.launch or launches.next(self.thread, first, self.end)
        self.shared, self.near = gaps.is_shared(device, self.end), None

    # ---- calls

    def launched_before(self, call):
        if call["correlation"] and self.after.first:
            return later(call["correlation"], self.after.first)
        return call["end"] > self.end

    def can_launch(self, calls, at):
        following = calls[at] if at < len(calls) else None
        while at and self.launched_before(calls[at - 1]):
            at -= 1
            following = calls[at]
        last = calls[at - 1] if at else None
        if last and last["correlation"] and last["correlation"] == self.after.first:
            return True
        if not following or following.get("launches") is None:
            return True
        return following["launches"] != ((last.get("launches") or 0) if last else 0)

    def launcher(self):
        found = None
        for thread, calls in self.g.calls.items():
            at = self.g.calls_before(thread, self.end)
            if at and self.after.first and calls[at - 1]["correlation"] == self.after.first:
                return calls
            if not self.can_launch(calls, at):
                continue
            if found:
                return None
            found = calls
        return found

    def blame_call(self, call, ns):
        ns = min(ns, self.left)
        if ns > 0:
            self.left -= ns
            cause = CAUSES.get(call["call"], "host_sync")
            self.g.part(cause, self.gap, ns)
            self.g.known(call.get("stack") or 0, cause, False, self.gap, ns)

    def in_call(self, call, start, end):
        return max(0, end - start) and end - start - self.g.engines(call["thread"], start, end)

    def blame_calls(self):
        whole = self.left
        if self.calls:
            at = self.g.calls_before(self.calls[0]["thread"], self.end)
            for call in reversed(self.calls[:at]):
                if not self.left:
                    break
                if self.launched_before(call):
                    self.queued |= call["start"] <= self.start
                    continue
                inside = self.in_call(call, max(call["start"], self.start), min(call["end"], self.end))
                self.blame_call(call, inside)
                if call["start"] > self.start:
                    continue
                if not self.queued and (call["end"] > self.start or later(call["correlation"], self.before.newest)):
                    self.blame_call(call, self.in_call(call, call["start"], call["end"]) - inside)
                break
        if self.left == whole and not self.queued:
            call = self.other()
            if call:
                self.blame_call(call, self.in_call(call, call["start"], call["end"]))

    def other(self):
        """The call, of any thread, that was running when the gap began and returned in it; of several the last to
        return."""
        found = None
        for thread, calls in self.g.calls.items():
            at = self.g.calls_before(thread, self.start + 1)
            call = calls[at - 1] if at else None
            if call and self.start < call["end"] <= self.end and not self.launched_before(call):
                found = call if not found or call["end"] > found["end"] else found
        return found

    # ---- what calls leave

    def submitted(self):
        row = self.following
        return bool(row) and row["start"] <= self.start and self.end - row["start"] >= LATENCY

    def run(self):
        ns = self.g.engines(self.thread, self.start, self.end)
        if ns > 0:
            self.g.part("engine", self.gap, ns)
            self.left -= ns
        self.queued = self.submitted()
        if not self.queued:
            self.blame_calls()
        self.queued = self.queued and (not self.launch or self.submitted())
        if self.left > 0:
            self.host()

    def class_stack(self):
        if self.launch and self.launch["stack"]:
            return self.launch["stack"]
        row = self.following or self.near
        closing = None if self.after.stack or not row else self.g.launches.closing(row)
        return self.after.stack or (closing["stack"] if closing else 0) or 0

    def host(self):
        begun = max(self.launch["start"], self.start) if self.launch else self.end
        launching = min(self.end - begun, self.left)
        if not self.thread:
            self.near = self.g.launches.around(self.after.first, self.end)
        if self.near:
            self.thread, self.calls = self.near["thread"], self.g.calls.get(self.near["thread"])
        if self.queued:
            self.g.part("other_process" if self.shared else "queued", self.gap, self.left)
            if not self.shared:
                self.ended("queued", self.left)
            return
        if self.shared and launching >= LAUNCHES:
            self.g.part("other_process", self.gap, launching)
            self.left -= launching
            launching = 0
            if not self.left:
                return
        cause = "slow_launches" if self.left < LAUNCHES else "late_launch" if self.left < WORK else "nothing_submitted"
        if self.shared and not self.launch and cause != "slow_launches":
            self.g.part("other_process" if self.burst() else cause, self.gap, self.left)
            return
        self.g.part(cause, self.gap, self.left)
        if launching > 0:
            self.g.known(self.launch["stack"] or 0, cause, False, self.gap, launching)
        if self.left > launching:
            self.own(cause, self.class_stack(), begun, self.left - launching)

    def burst(self):
        spans = self.spans[self.at:self.at + BURST_MOST + 1]
        last, count = spans[0], spans[0].count
        for a, b in zip(spans, spans[1:]):
            if b.start - a.end >= BACK_TO_BACK:
                break
            last, count = b, count + b.count
        return count >= BURST_LEAST and last.end - spans[0].start < BURST_EACH * count

    def ended(self, cause, ns):
        stack = (self.launch["stack"] or 0) if self.launch else self.after.stack
        closing = self.class_stack()
        if stack or not closing:
            self.g.known(stack, cause, True, self.gap, ns)
        else:
            self.g.owns[self.thread, closing, cause].put(self.gap, ns)

    def away(self, time):
        at = self.g.calls_before(self.thread, time + 1) if self.calls else 0
        return bool(at and self.calls[at - 1]["end"] > time) or self.g.engines(self.thread, time, time + 1) > 0

    def own(self, cause, stack, end, ns):
        if not stack and not self.g.looks:
            self.g.none(cause, self.gap, ns)
            return
        own = self.g.owns[self.thread, stack, cause]
        own.put(self.gap, ns)
        looks = self.g.looks_in(self.start, end)
        mine = [look for look in looks if look["thread"] == self.thread and (look["stack"] or look["quality"])]
        for look in mine:
            if not self.away(look["start"]):
                own.look(look, self.gap, ns, False)
        if not mine:
            self.inherit(own, looks, ns)

    def inherit(self, own, looks, ns):
        others = [look for look in looks if look["stack"] and look["thread"] != self.thread]
        threads = list(dict.fromkeys(look["thread"] for look in others))
        blocked = list(dict.fromkeys(look["thread"] for look in others if look["state"] == BLOCKED))
        one = threads[0] if len(threads) == 1 else blocked[0] if blocked else threads[0] if threads else 0
        several = len(threads) > 1 and len(blocked) != 1
        for look in others:
            if look["thread"] == one:
                own.look(None if several else look, self.gap, ns, True)


class Own:
    """The host's own time of a thread, of a launch's stack and of a cause."""

    def __init__(self):
        self.gaps, self.seen, self.mine, self.inherited = [], [], 0, 0

    def put(self, gap, ns):
        self.gaps.append((ns, gap))

    def look(self, look, gap, ns, inherited):
        self.seen.append((look, gap, ns, inherited))
        self.inherited += inherited
        self.mine += not inherited


Part = collections.namedtuple("Part", "ns gap cause stack ended look")


class Gaps:
    def __init__(self, log, begins):
        self.log, self.begins = log, begins
        self.by_cause = collections.defaultdict(list)  # (ns, gap) of each cause's parts
        self.parts, self.owns = [], collections.defaultdict(Own)
        self.launches = Launches(log.rows["launch"])
        self.looks = sorted((row for row in log.rows["host_sample"] if row["thread"]), key=lambda row: row["start"])
        self.look_times = [row["start"] for row in self.looks]
        self.read_calls()
        self.read_others()
        for device, spans in self.work().items():
            self.blame(device, spans)
        self.share_out()

    def read_calls(self):
        rows = [dict(row, call=row["kind"]) for row in self.log.rows["sync"]]
        self.calls = collections.defaultdict(list)
        for row in self.log.rows["wait"] or rows:
            if row["call"] != STREAM_WAIT:
                self.calls[row["thread"] or 0].append(dict(row, end=row["start"] + row["duration"]))
        for calls in self.calls.values():
            calls.sort(key=lambda row: (row["start"], row["end"]))
        self.calls = dict(self.calls)
        self.starts = {thread: [row["start"] for row in calls] for thread, calls in self.calls.items()}

    def read_others(self):
        self.kept = sorted((row["start"], row["start"] + row["duration"], row.get("thread") or 0)
                           for row in self.log.rows["overhead"] if self.log.names.get(row["kind"]) == "engine")
        self.others = collections.defaultdict(list)
        for row in self.log.rows["device_metric"]:
            if row.get("processes") is not None:
                self.others[row["device"]].append((row["time"], row["processes"]))

    def is_shared(self, device, time):
        rows = self.others.get(device, ())
        at = bisect.bisect_left(rows, (time, 0)) if rows else 0
        return bool(rows) and rows[max(0, at - 1)][1] > 1

    def engines(self, thread, start, end):
        ns, reached = 0, start
        for begin, until, of in self.kept:
            since, to = max(begin, reached), min(until, end)
            if to > since and not (thread and of and of != thread):
                ns += to - since
                reached = to
        return ns

    def calls_before(self, thread, time):
        return bisect.bisect_left(self.starts.get(thread, ()), time)

    def looks_in(self, start, end):
        return self.looks[bisect.bisect_left(self.look_times, start):bisect.bisect_left(self.look_times, end)]

    def work(self):
        found = collections.defaultdict(list)
        for kind in ("kernel", "memcpy", "memset", "graph_run"):
            for row in self.log.rows[kind]:
                if row["duration"] > 0:
                    found[self.log.devices.get(row.get("stream"))].append(row)
        for device, rows in found.items():
            spans = []
            for row in sorted(rows, key=lambda row: row["start"]):
                if spans and row["start"] <= spans[-1].end:
                    spans[-1].join(Span(row))
                else:
                    spans.append(Span(row))
            found[device] = spans
        return found

    def blame(self, device, spans):
        before = Done(spans[0].end, spans[0].newest)
        for at in range(1, len(spans)):
            start, end = max(before.end, min(self.begins or 0, spans[at].start)), spans[at].start
            if 0 < end - start < BACK_TO_BACK:
                self.by_cause["back_to_back"].append((end - start, Gap(start, end)))
            elif end > start:
                Blame(self, device, before, spans, at, start).run()
            newest = spans[at].newest
            before = Done(spans[at].end, newest if not before.newest or later(newest, before.newest) else before.newest)

    # ---- what a gap's parts are put into

    def part(self, cause, gap, ns):
        self.by_cause[cause].append((ns, gap))

    def known(self, stack, cause, ended, gap, ns):
        self.parts.append(Part(ns, gap, cause, stack, ended and bool(stack), None))

    def none(self, cause, gap, ns):
        self.parts.append(Part(ns, gap, cause, 0, False, None))

    def is_python(self, thread, stack):
        if not stack:
            return any(look["stack"] and look["thread"] == thread for look in self.looks)
        while stack:
            row = self.log.stacks[stack]
            if self.log.frames[row["frame"]]["kind"] == PYTHON:
                return True
            stack = row["parent"]
        return False

    def share_out(self):
        """Gives the host's own time to the looks in it if there are enough, else to the launch that ended it."""
        pools, of = collections.Counter(), {}
        for key, own in self.owns.items():
            thread, stack, cause = key
            python = self.is_python(thread, stack)
            of[key] = (thread, cause, stack if python and own.mine >= LOOKS_LEAST else None, python)
            pools[of[key]] += own.mine + (0 if python else own.inherited)
        for key, own in self.owns.items():  # the threads of a runtime together
            if not of[key][3] and pools[of[key]] < POOL_LEAST:
                of[key] = (None, key[2], None, False)
                pools[of[key]] += own.mine + own.inherited
        few = {pool for pool in set(of.values()) if pool[0] is None and pools[pool] < POOL_LEAST}
        for key, own in self.owns.items():  # all of them, if those with few looks are too few together
            joined = (None, key[2], None, False)
            if not of[key][3] and of[key] != joined and joined in few:
                of[key] = joined
                pools[joined] += own.mine + own.inherited
        for key, own in self.owns.items():
            _, stack, cause = key
            if pools[of[key]] < POOL_LEAST:
                self.parts += [Part(ns, gap, cause, stack, bool(stack), None) for ns, gap in own.gaps]
                continue
            for look, gap, ns, inherited in own.seen:
                if not inherited or not of[key][3]:
                    self.parts.append(Part(ns, gap, cause, (look or {}).get("stack") or 0, False, look))
