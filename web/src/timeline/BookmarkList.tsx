// BookmarkList.tsx - the session's bookmarks as a list, and the small forms that make one and
// change its note. Everybody who sees the session reads them; the page asks the server who may
// write, and only these users see the forms.
import { createContext, useContext, useEffect, useId, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { client } from "../api/client";
import { may, useMe } from "../api/may";
import { useAct, useApi } from "../api/use";
import { count, duration, exact } from "../format/format";
import { wild } from "../format/tame";
import { useQuery } from "../router/router";
import { bookmarkText as text } from "../text/bookmarks";
import { Ask } from "../ui/forms";
import { exactTime } from "./axis";
import { bookmarksOf, type Bookmark } from "./bookmarks";
import type { Engine } from "./engine";
import type { View } from "./view";

const NOTE_MOST = 4096;
const NOT_HERE: ReadonlySet<number> = new Set([403, 404]); // statuses of a visitor who may not see bookmarks
const PAGE = "marks"; // parameter of the address: whether the list is open

interface Bookmarks {
  session: string;
  list: readonly Bookmark[];
  writes: boolean;
  problem: string | null; // why the list is not known
  again: () => void;
}

export const BookmarksContext = createContext<Bookmarks>({ session: "", list: [], writes: false, problem: null, again: () => undefined });

/** The session's bookmarks, which the engine draws as soon as they are loaded. */
export function useBookmarks(engine: Engine): Bookmarks {
  const { session } = engine;
  const asked = useApi("bookmarks", { session });
  const me = useMe();
  const list = useMemo(() => bookmarksOf(asked.data?.rows ?? []), [asked.data]);
  useEffect(() => engine.setBookmarks(list), [engine, list]);
  const { again } = asked;
  const writes = may(me, "WRITE") && asked.data !== undefined;
  const problem = asked.problem && !NOT_HERE.has(asked.problem.status) ? asked.problem.message : null;
  return useMemo(() => ({ session, list, writes, problem, again }), [session, list, writes, problem, again]);
}

/** Whether the list is open, and a function that changes it. */
export function useList(): [boolean, (open: boolean) => void] {
  const [value, set] = useQuery(PAGE);
  return [value === "list", (open) => set(open ? "list" : "")];
}

export function ListButton() {
  const { list, problem } = useContext(BookmarksContext);
  const [open, setOpen] = useList();
  if (list.length === 0 && !problem && !open) return null;
  return (
    <button type="button" className="button" aria-pressed={open} onClick={() => setOpen(!open)}>
      {text.show(count(list.length))}
    </button>
  );
}

interface FormProps {
  label: string;
  note: string;
  save: (note: string) => Promise<unknown>;
  onClose: () => void;
}

function NoteForm({ label, note, save, onClose }: FormProps) {
  const [value, setValue] = useState(note);
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const act = useAct(async (words: string) => {
    await save(wild(words));
    return true;
  });
  useLayoutEffect(() => {
    const before = document.activeElement; // the button that opened the form: the focus goes back there
    field.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  const send = (): void => {
    const words = value.trim();
    if (words && !act.busy) void act.run(words).then((done) => done && onClose());
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
    else return;
    event.preventDefault();
  };
  return (
    <form
      className="tl-note-form"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label className="small quiet" htmlFor={id}>
        {label}
      </label>
      <textarea id={id} ref={field} className="field" rows={2} required maxLength={NOTE_MOST} value={value} onChange={(event) => setValue(event.target.value)} onKeyDown={onKeyDown} />
      <span className="row">
        <button type="submit" className="button button-main" disabled={act.busy || !value.trim()}>
          {text.save}
        </button>
        <button type="button" className="button" onClick={onClose}>
          {text.cancel}
        </button>
      </span>
      {act.problem && (
        <p className="wrong" role="alert">
          {act.problem.message}
        </p>
      )}
    </form>
  );
}

/** The button next to a range's heading, and the form that it opens. */
export function MakeBookmark({ range }: { range: View }) {
  const { session, writes, again } = useContext(BookmarksContext);
  const [open, setOpen] = useState(false);
  const [, setList] = useList();
  if (!writes) return null;
  const make = async (note: string): Promise<void> => {
    await client.change("bookmark_make", { session }, { start: range.from, duration: range.to - range.from, note });
    again();
    setList(true);
  };
  return (
    <div className="row">
      <button type="button" className="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {text.make}
      </button>
      {open && <NoteForm label={text.note} note="" save={make} onClose={() => setOpen(false)} />}
    </div>
  );
}

function Entry({ engine, bookmark, onRemoved }: { engine: Engine; bookmark: Bookmark; onRemoved: () => void }) {
  const { session, writes, again } = useContext(BookmarksContext);
  const [doing, setDoing] = useState<"change" | "remove" | null>(null);
  const { id, start, note } = bookmark;
  const close = (): void => setDoing(null);
  const change = async (words: string): Promise<void> => {
    await client.change("bookmark_put", { session, bookmark: id }, { note: words }).finally(again);
  };
  const remove = useAct(async () => {
    await client.change("bookmark_delete", { session, bookmark: id }, undefined).finally(again);
    close();
    onRemoved();
  });
  const length = bookmark.duration > 0 ? duration(bookmark.duration) : text.moment;
  return (
    <li className="tl-bookmark">
      <button type="button" className="tl-bookmark-go" onClick={() => engine.goBookmark(bookmark)}>
        <span className="tl-note">{note}</span>
        <span className="quiet small number" title={`${exact(start, "ns")}, ${exact(bookmark.duration, "ns")}`}>
          {exactTime(start)}, {length}
        </span>
      </button>
      {writes && (
        <span className="row">
          <button type="button" className="button" aria-label={text.changeOf(note)} aria-expanded={doing === "change"} onClick={() => setDoing(doing === "change" ? null : "change")}>
            {text.change}
          </button>
          <button type="button" className="button" aria-label={text.removeOf(note)} onClick={() => setDoing("remove")}>
            {text.remove}
          </button>
        </span>
      )}
      {doing === "change" && <NoteForm label={text.noteOf(exactTime(start))} note={note} save={change} onClose={close} />}
      {doing === "remove" && (
        <Ask danger title={text.removeTitle} action={text.remove} busy={remove.busy} problem={remove.problem} onDo={() => void remove.run()} onClose={close}>
          <p className="tl-note">{note}</p>
        </Ask>
      )}
    </li>
  );
}

export function BookmarkList({ engine }: { engine: Engine }) {
  const { list, problem } = useContext(BookmarksContext);
  const box = useRef<HTMLElement>(null);
  const removed = useRef(false);
  useEffect(() => {
    if (removed.current) box.current?.focus({ preventScroll: true }); // the button that had the focus is gone
    removed.current = false;
  }, [list]);
  return (
    <section className="tl-bookmarks" aria-label={text.title} ref={box} tabIndex={-1}>
      <h2>{text.title}</h2>
      {problem && (
        <p className="wrong" role="alert">
          {text.problem} {problem}
        </p>
      )}
      {list.length > 0 ? (
        <ol>
          {list.map((one) => (
            <Entry key={one.id} engine={engine} bookmark={one} onRemoved={() => (removed.current = true)} />
          ))}
        </ol>
      ) : (
        !problem && <p className="quiet">{text.none}</p>
      )}
    </section>
  );
}

/** The note of the bookmark under the pointer, as text. */
export function BookmarkTip({ bookmark }: { bookmark: Bookmark }) {
  return (
    <>
      <strong className="tl-note">{bookmark.note}</strong>
      <span>{bookmark.duration > 0 ? duration(bookmark.duration) : text.moment}</span>
      <span className="quiet">{exactTime(bookmark.start)}</span>
    </>
  );
}
