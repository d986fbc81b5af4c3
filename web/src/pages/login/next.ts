// next.ts - where to go after logging in, or from a link: always an address of this dashboard,
// never one of another origin.
import { en } from "../../text/en";
import { href, match, withQuery } from "../../router/router";

export function safeNext(next: string | null): string {
  if (!next || !next.startsWith("/") || next.startsWith("//") || next.includes("\\")) return "/";
  return next;
}

/** Where to go on from a link that does not work. */
export const TO_LOGIN = { label: en.states.logIn, href: href("login") };

/** The token of a link: the part after #, alone or by name. */
export const hashToken = (hash: string): string | null => new URLSearchParams(hash.slice(1)).get("token");

/** The longest view that a link may have: the server refuses longer addresses. */
const VIEW_MOST = 4000;

/** A view of that session, as the part of a link that opens the session; "": not a view of the
 * session. Only pages of the session itself are accepted, so that a link leads nowhere else. */
export function sharedView(pathname: string, search: string, session: string): string {
  const place = match(pathname, search);
  const known = place.page === "session" || place.page === "kernel";
  if (!known || place.path.session !== session || pathname.length + search.length > VIEW_MOST) return "";
  return withQuery(href(place.page!, place.path), place.query, { workspace: "" });
}
