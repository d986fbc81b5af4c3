// left.ts - the last state of the views of sessions. A user who comes back to a view by its
// tab, by its key or by name finds it as it was.
import { href, withQuery, type Place } from "../../router/router";

/** Views over time: they share the part of the time that is shown. */
const TIMED = new Set(["timeline", "memory", "system"]);
const left = new Map<string, string>(); // queries by session and view

export const leave = (session: string, view: string, query: string): unknown => left.set(`${session}/${view}`, query);

const queryOf = (session: string, view: string): URLSearchParams => new URLSearchParams(left.get(`${session}/${view}`));

export const asLeft = (session: string, view: string): string => withQuery(href("session", { session, tab: view }), queryOf(session, view), {});

/** The address of a view, as it was left, from a place of its session. The view that is already
 * shown gets its beginning. */
export function viewFrom({ path, query }: Place, view: string): string {
  const session = path.session!;
  const from = path.tab ?? "";
  if (view === from) return href("session", { session, tab: view });
  return withQuery(href("session", { session, tab: view }), queryOf(session, view), TIMED.has(view) && TIMED.has(from) ? { at: query.get("at") } : {});
}
