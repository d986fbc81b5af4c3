// router.ts - addresses. pages.ts has all pages; what a page shows (search, sort, tab, selection)
// is in the query, so that every view has an address that can be shared.
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { addressOf, pageAt, type PageId } from "./pages";

export interface Place {
  page: PageId | null; // null: no such page
  path: Record<string, string>;
  query: URLSearchParams;
}

export function match(pathname: string, search: string): Place {
  const query = new URLSearchParams(search);
  try {
    const have = pathname.split("/").filter(Boolean).map(decodeURIComponent);
    return { ...(pageAt(have) ?? { page: null, path: {} }), query };
  } catch {
    return { page: null, path: {}, query };
  }
}

export type QueryValues = Record<string, string | number | null | undefined>;

export function href(page: PageId, path: Record<string, string | number> = {}, query: QueryValues = {}): string {
  return withQuery(addressOf(page, path), new URLSearchParams(), query);
}

/** The path with `values` set in the query `before`; empty values are removed. */
export function withQuery(path: string, before: URLSearchParams, values: QueryValues): string {
  const query = new URLSearchParams(before);
  for (const [name, value] of Object.entries(values))
    if (value === null || value === undefined || value === "") query.delete(name);
    else query.set(name, String(value));
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

const listeners = new Set<() => void>();
const notify = (): void => listeners.forEach((listener) => listener());

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) window.addEventListener("popstate", notify);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) window.removeEventListener("popstate", notify);
  };
}

export function go(to: string, replace = false): void {
  history[replace ? "replaceState" : "pushState"](null, "", to);
  if (!replace) window.scrollTo(0, 0);
  notify();
}

export function usePlace(): Place {
  const at = useSyncExternalStore(subscribe, () => location.pathname + location.search);
  return useMemo(() => {
    const [path, search] = at.split("?", 2);
    return match(path!, search ?? "");
  }, [at]);
}

/** A value of the query and a function that changes it; a change replaces the entry of the
 * history. */
export function useQuery(name: string, standard = ""): [string, (value: string) => void] {
  const { query } = usePlace();
  const set = useCallback(
    (value: string) =>
      go(withQuery(location.pathname, new URLSearchParams(location.search), { [name]: value === standard ? "" : value }), true),
    [name, standard],
  );
  return [query.get(name) ?? standard, set];
}

const SOON_MS = 200;

/** A value of the address that changes more often than a browser allows addresses to change: the
 * value changes at once, and the address follows when the value rests. */
export function useQuerySoon(name: string, standard = ""): [string, (value: string) => void] {
  const [there, put] = useQuery(name, standard);
  const [value, set] = useState(there);
  const inAddress = useRef(there);
  useEffect(() => {
    if (there !== inAddress.current) set(there); // changed from outside, for example by "back"
    inAddress.current = there;
  }, [there]);
  useEffect(() => {
    if (value === inAddress.current) return;
    const timer = setTimeout(() => {
      inAddress.current = value;
      put(value);
    }, SOON_MS);
    return () => clearTimeout(timer);
  }, [value, put]);
  return [value, set];
}
