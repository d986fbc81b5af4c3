// next.ts - where to go after logging in: an address of this dashboard, never one of another origin.
export function safeNext(next: string | null): string {
  if (!next || !next.startsWith("/") || next.startsWith("//") || next.includes("\\")) return "/";
  return next;
}

/** The token of a link: behind #, alone or by name. */
export const hashToken = (hash: string): string | null => new URLSearchParams(hash.slice(1)).get("token");
