// SharePage.tsx - a link to one session: the token moves from the address into this tab's memory,
// and the session opens.
import { useEffect, useState } from "react";
import { client, Problem } from "../../api/client";
import { who } from "../../api/who";
import { go, href } from "../../router/router";
import { join } from "../../text/login";
import { ProblemView, Skeleton } from "../../ui/parts";
import { hashToken, sharedView, TO_LOGIN } from "./next";

/** The view that was shared, or the session's first view. */
function viewOf(to: string, session: string): string {
  const [path, search] = to.split("?", 2);
  return sharedView(path ?? "", search ?? "", session) || href("session", { session, tab: "insights" });
}

export function SharePage() {
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    const token = hashToken(location.hash);
    if (!token) {
      setProblem(new Problem(-1, join.shareTitle, join.noToken));
      return;
    }
    const to = new URLSearchParams(location.search).get("to") ?? "";
    client.forget();
    who.opened(token);
    client.get("me", {}).then(
      (me) => go(viewOf(to, me.session ?? ""), true),
      (cause: unknown) => {
        who.opened("");
        setProblem(cause instanceof Problem && cause.status === 401 ? new Problem(-1, join.shareTitle, join.shareGone) : (cause as Problem));
      },
    );
  }, []);
  return problem ? <ProblemView alone problem={problem} onward={TO_LOGIN} /> : <Skeleton rows={8} />;
}
