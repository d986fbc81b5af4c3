// Origins.tsx - what the colours of a flame graph mean, with the time that each origin's own frames take.
import { useMemo } from "react";
import { count, duration, exact, percent } from "../../format/format";
import { flameText as text } from "../../text/flame";
import { ORIGINS, originOf, TONE, type Origin } from "./origin";
import type { Stack } from "./tree";

export const toneOf = (name: string): number => TONE[originOf(name)];

/** The time of the stacks in which an origin has a frame. */
export function timesOf(stacks: readonly Stack[]): Map<Origin, number> {
  const known = new Map<string, Origin>();
  const times = new Map<Origin, number>();
  const originAt = (name: string): Origin => {
    const origin = known.get(name) ?? originOf(name);
    known.set(name, origin);
    return origin;
  };
  for (const { frames, ns } of stacks) for (const origin of new Set(frames.map(originAt))) times.set(origin, (times.get(origin) ?? 0) + ns);
  return times;
}

/** samples: the stacks have numbers of samples in place of times. */
export function Origins({ stacks, samples = false }: { stacks: readonly Stack[]; samples?: boolean }) {
  const times = useMemo(() => timesOf(stacks), [stacks]);
  const all = stacks.reduce((sum, { ns }) => sum + ns, 0);
  return (
    <p className="row small flame-origins" role="group" aria-label={text.origins}>
      {ORIGINS.filter((origin) => times.has(origin)).map((origin) => (
        <span key={origin} title={samples ? text.originSamples(count(times.get(origin))) : text.originText(duration(times.get(origin)), exact(times.get(origin), "ns"))}>
          <svg viewBox="0 0 10 10" aria-hidden="true">
            <rect style={{ fill: `var(--event-${TONE[origin] + 1})` }} width="10" height="10" />
          </svg>
          {text.origin[origin]} <span className="quiet number">{percent(times.get(origin)! / all)}</span>
        </span>
      ))}
    </p>
  );
}
