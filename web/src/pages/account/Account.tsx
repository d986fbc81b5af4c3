// Account.tsx - the account in the bar: the workspace (a choice, for members of several), whether
// events arrive, and logging out.
import { useEffect, useRef } from "react";
import { client } from "../../api/client";
import { useLiveState } from "../../api/live";
import type { Me } from "../../api/schema";
import { who } from "../../api/who";
import { go, href } from "../../router/router";
import { en } from "../../text/en";
import { Pick } from "../../ui/forms";

export interface Workspace {
  workspace: string;
  name: string;
  role: string;
}

/** The list in `me` is described in words alone; an element that differs from the description is
 * left out. */
export function workspacesOf(me: Me): Workspace[] {
  const list: unknown = me.workspaces;
  if (!Array.isArray(list)) return [];
  return list.flatMap((row: unknown) => {
    const { workspace, name, role } = (row ?? {}) as Record<string, unknown>;
    return typeof workspace === "string" ? [{ workspace, name: String(name ?? workspace), role: String(role ?? "") }] : [];
  });
}

export function Account({ me }: { me: Me }) {
  const box = useRef<HTMLDetailsElement>(null);
  const live = useLiveState();
  const all = workspacesOf(me);
  useEffect(() => {
    const close = (event: MouseEvent | KeyboardEvent) => {
      const out = event instanceof KeyboardEvent ? event.key === "Escape" : !box.current?.contains(event.target as Node);
      if (out && box.current?.open) {
        box.current.open = false;
        if (event instanceof KeyboardEvent) box.current.querySelector("summary")?.focus();
      }
    };
    document.addEventListener("click", close);
    document.addEventListener("keydown", close);
    return () => {
      document.removeEventListener("click", close);
      document.removeEventListener("keydown", close);
    };
  }, []);
  async function logout() {
    await client.change("logout", {}, undefined);
    who.forgotten();
    client.forget();
    go(href("login"));
  }
  if (me.kind === "share") return <span className="small">{en.nav.viaLink}</span>;
  return (
    <details className="menu" ref={box}>
      <summary aria-label={`${en.nav.account}: ${me.local ? en.nav.local : me.name}`}>
        <span className={live === "open" ? "dot dot-live" : "dot"} title={live === "open" ? en.live.openText : en.live.closedText} />
        <span className="ellipsis">{me.local ? en.nav.local : me.name}</span>
      </summary>
      <div className="menu-body stack">
        <div>
          <strong className="wrap">{me.local ? en.nav.local : me.name}</strong>
          <p className="small quiet">{live === "open" ? en.live.openText : en.live.closedText}</p>
        </div>
        {all.length > 1 && (
          <Pick
            label={en.nav.workspace}
            value={me.workspace ?? ""}
            options={all.map(({ workspace, name }) => ({ value: workspace, label: name }))}
            onChange={(workspace) => {
              if (box.current) box.current.open = false;
              client.forget();
              who.choose(workspace);
              go(href("fleet"));
            }}
          />
        )}
        {!me.local && (
          <button type="button" className="button" onClick={() => void logout()}>
            {en.nav.logout}
          </button>
        )}
      </div>
    </details>
  );
}
