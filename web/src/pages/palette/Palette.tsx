// Palette.tsx - go anywhere by typing: pages, tabs of this session, other sessions (searched for by
// the server), and the few commands.
import { useId, useState } from "react";
import type { Me } from "../../api/schema";
import { useApi } from "../../api/use";
import { date } from "../../format/format";
import { go, href, type Place } from "../../router/router";
import { en } from "../../text/en";
import { Name } from "../../ui/Name";
import { Dialog } from "../../ui/parts";
import { toggle } from "../../ui/theme";
import { pagesFor } from "../Nav";
import { viewFrom } from "../session/left";
import { TABS } from "../session/tabs";

interface Entry {
  key: string;
  text: string;
  note: string;
  run: () => void;
}

interface Props {
  place: Place;
  me: Me | undefined;
  onClose: () => void;
  onShortcuts: () => void;
}

const entryTo = (key: string, label: string, note: string, address: string): Entry => ({ key, text: label, note, run: () => go(address) });

/** The pages, views and commands that have `text` in their names, and the sessions that the server
 * finds by it. */
function useEntries(text: string, { place, me, onShortcuts }: Props): Entry[] {
  const found = useApi("sessions", { text: text.slice(0, 256), limit: 8 });
  const fixed: Entry[] = [
    ...pagesFor(me).map(({ page, name }) => entryTo(page, name, en.palette.go, href(page))),
    ...(place.path.session ? TABS.map((tab) => entryTo(tab.id, en.session.tabs[tab.id]!, en.palette.go, viewFrom(place, tab.id))) : []),
    { key: "theme", text: en.palette.theme, note: "t", run: toggle },
    { key: "shortcuts", text: en.palette.shortcuts, note: "?", run: onShortcuts },
  ];
  const words = text.toLowerCase();
  return [
    ...fixed.filter((entry) => entry.text.toLowerCase().includes(words)),
    ...(found.data?.rows ?? []).map((row) =>
      entryTo(row.id, row.app || row.id, `${row.host} · ${date(row.started)} · ${row.id.slice(0, 8)}`, href("session", { session: row.id, tab: "insights" })),
    ),
  ];
}

export function Palette(props: Props) {
  const { onClose } = props;
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const entries = useEntries(text, props);
  const chosen = Math.min(at, entries.length - 1);

  function run(entry: Entry | undefined) {
    if (!entry) return;
    onClose();
    entry.run();
  }

  return (
    <Dialog title={en.palette.title} className="palette" onClose={onClose}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={entries[chosen] ? `${list}-${chosen}` : undefined}
        aria-label={en.palette.hint}
        placeholder={en.palette.hint}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          if (step) setAt((chosen + step + entries.length) % Math.max(1, entries.length));
          else if (event.key === "Enter") run(entries[chosen]);
          else return;
          event.preventDefault();
        }}
      />
      <ul role="listbox" id={list} aria-label={en.palette.title}>
        {entries.map((entry, index) => (
          <li key={entry.key} id={`${list}-${index}`} role="option" aria-selected={index === chosen} onClick={() => run(entry)}>
            <span className="ellipsis">
              <Name short={entry.text} full={entry.text} find={text} />
            </span>
            <span className="quiet small end ellipsis">{entry.note}</span>
          </li>
        ))}
      </ul>
      {entries.length === 0 && <p className="panel-body quiet">{en.palette.none}</p>}
    </Dialog>
  );
}
