// LocalHome.tsx - the first page of `gpufl view`: the session that the address names, as soon as
// the server has it, or the list of sessions.
import { useEffect, useState } from "react";
import { onSession, useApi } from "../../api/use";
import { go, href } from "../../router/router";
import { en } from "../../text/en";
import { Empty } from "../../ui/parts";

const SOON_MS = 1000;

/** "#session=ID", which `gpufl view` adds to the address of a folder with one session. */
export const sessionOfHash = (hash: string): string | null => /^#session=([\w.-]{1,256})$/.exec(hash)?.[1] ?? null;

export function LocalHome() {
  const [session] = useState(() => sessionOfHash(location.hash));
  const asked = useApi("session", session ? { session } : null, { every: SOON_MS, on: onSession(session ?? "") });
  const there = asked.data !== undefined;
  useEffect(() => {
    if (!session) go(href("sessions"), true);
    else if (there) go(href("session", { session, tab: "insights" }), true);
  }, [session, there]);
  return <Empty title={en.local.loading} text={en.local.loadingText} />;
}
