// Share.tsx - makes a link to one session, shown once.
import { useState } from "react";
import { client } from "../../api/client";
import { useAct, useApi } from "../../api/use";
import { sessions as text } from "../../text/sessions";
import { Ask, CopyButton, Pick } from "../../ui/forms";
import { tokenLink } from "../settings/commands";
import { sharedView } from "../login/next";
import { endAfter, openLinks } from "../settings/links";

const DAYS = [1, 7, 30, 365];

export function Share({ session, onClose }: { session: string; onClose: () => void }) {
  const [days, setDays] = useState("7");
  const [link, setLink] = useState("");
  const before = useApi("shares", { of: session });
  const make = useAct(async () => {
    const made = await client.change("share_make", { session }, { expires: endAfter(Number(days), Date.now()) });
    setLink(tokenLink(location.origin, "share", made.token ?? "", sharedView(location.pathname, location.search, session)));
    before.again();
  });
  const open = openLinks(before.data?.rows ?? [], Date.now());
  return (
    <Ask title={text.shareTitle} action={text.shareMake} busy={make.busy} done={link !== ""} onDo={() => void make.run()} onClose={onClose}>
      <p className="quiet">{text.shareText}</p>
      {sharedView(location.pathname, location.search, session) && <p className="small quiet">{text.shareView}</p>}
      <Pick label={text.shareEnds} value={days} onChange={setDays} options={DAYS.map((n) => ({ value: String(n), label: text.shareDays(n) }))} />
      {open > 0 && <p className="small quiet">{text.shareOpen(open)}</p>}
      {link && (
        <div className="stack" role="status">
          <div className="row">
            <code className="place" data-link>
              {link}
            </code>
            <CopyButton text={link} />
          </div>
          <p className="small">{text.shareOnce}</p>
        </div>
      )}
      {make.problem && (
        <p className="wrong" role="alert">
          {make.problem.message}
        </p>
      )}
    </Ask>
  );
}
