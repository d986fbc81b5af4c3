// finder.ts - the timeline's search: the next event whose name, or whose source line, contains the
// words.
import { useCallback, useEffect, useRef, useState } from "react";
import { timelineText as text } from "../text/timeline";
import { exactTime } from "./axis";
import type { Engine } from "./engine";
import type { Reveal } from "./shown";
import { nextHit, nextOf, type Found } from "./events";
import type { Lines } from "./lines";
import { lineHits, type LineHits } from "./lineHits";

/** Converts the server's events to those of the engine: names get their numbers. */
export function reveal(engine: Engine, found: Found, how: Reveal): void {
  const { start, duration, ref, made } = found;
  const id = made?.name ?? (found.name === null ? 0 : engine.names.numberOf(found.name, found.short ?? found.name));
  engine.reveal(found.lane, { kind: "event", start, duration, name: id, ref, stack: made?.stack ?? 0 }, how);
}

interface Kept {
  lines: Lines;
  words: string;
  hits: LineHits;
}

let kept: Kept | null = null; // the next hit of the same words is asked for at once

async function linesWith(engine: Engine, words: string, signal: AbortSignal): Promise<LineHits> {
  const { session, scene, looked } = engine;
  const { lines } = scene;
  if (kept?.lines !== lines || kept.words !== words) kept = { lines, words, hits: await lineHits({ session, lines, looked, to: Math.ceil(scene.bounds.to) + 1 }, signal) };
  return kept.hits;
}

/** The nearer of the next name and the next line. */
async function next(engine: Engine, words: string, here: Found | null, forward: boolean, signal: AbortSignal): Promise<{ found: Found | null; cut: boolean }> {
  const { session, scene } = engine;
  const from = scene.view.from;
  const [named, lined] = await Promise.all([
    nextHit(session, words.slice(0, 256), here, from, forward, signal),
    linesWith(engine, words, signal),
  ]);
  const line = nextOf(here ? lined.found : lined.found.filter(({ start }) => (forward ? start >= from : start < from)), here, forward);
  return { found: nextOf([named, line].filter((one) => one !== null), here, forward), cut: lined.cut };
}

export interface Finder {
  message: string;
  run: (forward: boolean, text?: string) => void; // text: the contents of the field, if the address does not have them yet
}

export function useFinder(engine: Engine, pattern: string): Finder {
  const [message, setMessage] = useState("");
  const here = useRef<Found | null>(null);
  const stop = useRef<AbortController | null>(null);
  const sought = useRef("");
  const begin = useCallback(
    (text: string) => {
      if (text === sought.current) return;
      sought.current = text;
      engine.setSearch(text);
      here.current = null;
      setMessage("");
    },
    [engine],
  );
  useEffect(() => begin(pattern), [begin, pattern]);
  useEffect(() => () => stop.current?.abort(), []);
  const run = useCallback(
    (forward: boolean, words = pattern) => {
      if (!words) return;
      begin(words);
      stop.current?.abort();
      const now = new AbortController();
      stop.current = now;
      setMessage(text.searching);
      next(engine, words, here.current, forward, now.signal).then(
        ({ found, cut }) => {
          if (now.signal.aborted) return;
          setMessage(found ? text.hit(found.short ?? "", exactTime(found.start)) : `${here.current ? text.noMore : text.noHit}${cut ? ` ${text.linesCut}` : ""}`);
          if (!found) return;
          here.current = found;
          reveal(engine, found, "pan");
        },
        (cause: unknown) => !now.signal.aborted && setMessage(cause instanceof Error ? cause.message : String(cause)),
      );
    },
    [begin, engine, pattern],
  );
  return { message, run };
}
