// LocalHome.tsx - the first page of `gpufl view`: the session that the address names, as soon as
// the server has it; the only one of a command's sessions that used the GPU; or the list of sessions.
import { useEffect, useState } from "react";
import { onSession, useApi } from "../../api/use";
import { go, href } from "../../router/router";
import { en } from "../../text/en";
import { Empty } from "../../ui/parts";
import { sessionOfHash, sessionsOfHash, theOneAtWork, MOST } from "./local";

const SOON_MS = 1000;
const WAIT_MS = 20_000; // without news, after which several sessions are listed

export function LocalHome() {
  const [session] = useState(() => sessionOfHash(location.hash));
  const [several] = useState(() => sessionsOfHash(location.hash));
  const [late, setLate] = useState(false);
  const asked = useApi("session", session ? { session } : null, { every: SOON_MS, on: onSession(session ?? "") });
  const among = useApi("sessions", several && !late ? { limit: MOST } : null, { every: SOON_MS, on: onSession() });
  const there = asked.data !== undefined;
  const news = among.data?.rows.map(({ id, state, kernels }) => `${id} ${state} ${kernels}`).join() ?? "";
  const found = several ? (late || among.problem ? "list" : theOneAtWork(among.data?.rows ?? [], several)) : null;
  useEffect(() => {
    const timer = several ? setTimeout(() => setLate(true), WAIT_MS) : undefined;
    return () => clearTimeout(timer);
  }, [several, news]);
  useEffect(() => {
    const opened = there ? session : found && found !== "list" ? found.id : null;
    if (opened) go(href("session", { session: opened, tab: "insights" }), true);
    else if (found === "list" || (!session && !several)) go(href("sessions"), true);
  }, [session, several, there, found]);
  return several ? <Empty title={en.local.several} text={en.local.severalText} /> : <Empty title={en.local.loading} text={en.local.loadingText} />;
}
