// Delete.tsx - asks before sessions are deleted, and deletes them one after the other.
import { client } from "../../api/client";
import type { RowSession } from "../../api/schema";
import { useAct } from "../../api/use";
import { sessions as text } from "../../text/sessions";
import { Ask } from "../../ui/forms";

export function Delete({ sessions, onClose, onDone }: { sessions: readonly Pick<RowSession, "id" | "app">[]; onClose: () => void; onDone: () => void }) {
  const remove = useAct(async () => {
    for (const { id } of sessions) await client.change("session_delete", { session: id }, undefined);
    onDone();
  });
  const [first] = sessions;
  return (
    <Ask danger title={text.removeTitle(sessions.length, first?.app || first?.id || "")} action={text.removeDo} busy={remove.busy} problem={remove.problem} onDo={() => void remove.run()} onClose={onClose}>
      <p>{text.removeText}</p>
      {sessions.length > 1 && <p className="small quiet wrap">{sessions.map((s) => s.app || s.id.slice(0, 8)).join(", ")}</p>}
    </Ask>
  );
}
