// fresh.ts - when pages of the fleet ask again, what events say of hosts and GPUs before the next
// answer, and the time that the pages use.
import { useEffect, useMemo, useRef, useState } from "react";
import { subscribe, type LiveEvent } from "../../api/live";
import { onSession, type Freshness } from "../../api/use";

export const LIVE_MS = 5000;
const onFleet = (event: LiveEvent): boolean => event.name === "fleet" || onSession()(event);
export const FRESH: Freshness = { every: LIVE_MS, on: onFleet };

/** The time moves on with the answers, and by itself, so that a GPU without news becomes silent. */
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

/** The members that an event and a row of an answer both have. */
export interface Reported {
  state: unknown;
  seen: string | null;
}
export type Named<R> = (row: R) => string;

const nsOf = (time: string | null): bigint => BigInt(time ?? 0);

/** The rows with the newer states that events reported. A host or GPU without a row comes with
 * the next answer. */
export const withNewer = <R extends Reported>(rows: readonly R[], reported: ReadonlyMap<string, Reported>, nameOf: Named<R>): R[] =>
  rows.map((row) => {
    const newer = reported.get(nameOf(row));
    return newer && nsOf(newer.seen) > nsOf(row.seen) ? { ...row, state: newer.state, seen: newer.seen } : row;
  });

const TAKE_MS = 500; // between two pictures that events cause

/** The rows of the last answer, with the states of later events of the fleet. The events are up
 * to a second earlier than the answer that is asked for because of them. */
export function useNewest<R extends Reported>(rows: readonly R[] | undefined, of: "hosts" | "gpus", nameOf: Named<R>): R[] | undefined {
  const reported = useRef(new Map<string, Reported>());
  const [round, setRound] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = 0;
    const end = subscribe(({ name, data }) => {
      const news = name === "fleet" ? data[of] : undefined;
      if (!Array.isArray(news) || news.length === 0) return;
      (news as R[]).forEach((row) => reported.current.set(nameOf(row), row));
      timer ??= setTimeout(
        () => {
          timer = undefined;
          last = Date.now();
          setRound((n) => n + 1);
        },
        Math.max(0, last + TAKE_MS - Date.now()),
      );
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [of, nameOf]);
  // eslint-disable-next-line react-hooks/exhaustive-deps
  return useMemo(() => rows && withNewer(rows, reported.current, nameOf), [rows, round, nameOf]);
}

export const hostName: Named<Reported & { name: string }> = (host) => host.name;
export const gpuName: Named<Reported & { host: string; uuid: string }> = (gpu) => `${gpu.host} ${gpu.uuid}`;
