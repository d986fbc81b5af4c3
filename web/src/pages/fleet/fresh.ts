// fresh.ts - when pages of the fleet ask again, and what time it is for them.
import { useEffect, useState } from "react";
import type { LiveEvent } from "../../api/live";
import { onSession, type Freshness } from "../../api/use";

export const LIVE_MS = 5000;
const onFleet = (event: LiveEvent): boolean => event.name === "fleet" || onSession()(event);
export const FRESH: Freshness = { every: LIVE_MS, on: onFleet };

/** Moves on with the answers, and by itself so that what is silent turns silent. */
export function useNow(...changed: unknown[]): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), LIVE_MS);
    return () => clearInterval(timer);
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, changed);
  return now;
}
