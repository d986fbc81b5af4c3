// left.ts - how the views of sessions were left: coming back to one is coming back to that, by its tab, by
// its key or by name.
import { href, withQuery, type Place } from "../../router/router";

/** Views over time: the part that one shows is what the next one shows. */
const TIMED = new Set(["timeline", "memory", "system"]);
const left = new Map<string, string>(); // queries by session and view

export const leave = (session: string, view: string, query: string): unknown => left.set(`${session}/${view}`, query);

const queryOf = (session: string, view: string): URLSearchParams => new URLSearchParams(left.get(`${session}/${view}`));

export const asLeft = (session: string, view: string): string => withQuery(href("session", { session, tab: view }), queryOf(session, view), {});

/** From a place to a view of its session; the view that is shown leads to its beginning. */
export function viewFrom({ path, query }: Place, view: string): string {
  const session = path.session!;
  const from = path.tab ?? "";
  if (view === from) return href("session", { session, tab: view });
  return withQuery(href("session", { session, tab: view }), queryOf(session, view), TIMED.has(view) && TIMED.has(from) ? { at: query.get("at") } : {});
}
