// Name.tsx - a name as people recognise it: the short text, with what was searched for marked. The whole name
// is in the tooltip, and on the clipboard when the name is copied.
import { Fragment, useContext } from "react";
import { en } from "../text/en";
import { piecesOf, type Piece } from "./found";
import { copyText } from "./forms";
import { Room } from "./room";

/** A line may be broken after a separator of a name, so that no word of the name is alone on a
 * line. Paths have enough separators without those within their words; the first / of a path stays
 * with it. */
const NAMES = /(?<=[_:<,\u2026])(?=[A-Za-z0-9])/;
const PATHS = /(?<=\S[|/,=]|\u2026)(?=[A-Za-z0-9])/;
const broken = (text: string) => text.split(/[|/]/.test(text) ? PATHS : NAMES).flatMap((part, at) => (at ? [<wbr key={at} />, part] : [part]));

const Pieces = ({ pieces }: { pieces: readonly Piece[] }) => pieces.map(({ text, hit }, at) => (hit ? <mark key={at}>{broken(text)}</mark> : <Fragment key={at}>{broken(text)}</Fragment>));

/** A path or a command as it is, broken after its separators. */
export const Broken = ({ text }: { text: string }) => <>{broken(text)}</>;

interface NameProps {
  short: string;
  uncut?: string | undefined; // what `short` was cut from, for rows that have the room
  full: string; // the whole name
  symbol?: string; // the name in the program, where it is another one
  find?: string;
}

export function Name({ short, uncut, full, symbol, find = "" }: NameProps) {
  const room = useContext(Room);
  const { lead, text } = piecesOf(uncut !== undefined && uncut.length <= room ? uncut : short, symbol ? [full, symbol] : [full], find, room || undefined);
  return (
    <span data-name={full} title={full}>
      {lead.length > 0 && (
        <>
          <span className="found">
            <Pieces pieces={lead} />
          </span>{" "}
        </>
      )}
      <Pieces pieces={text} />
    </span>
  );
}

const MOST = 96; // letters that a table shows of a text that people wrote
const FIRST = 56;
const LAST = 36;

/** A text that people wrote, which may be as long as the server allows: its beginning and its
 * end are shown, because they distinguish two such texts. The whole text is in the tooltip, and
 * on the clipboard when the text is copied. */
export function Words({ text }: { text: string }) {
  const letters = [...text];
  return <Name short={letters.length > MOST ? `${letters.slice(0, FIRST).join("")}…${letters.slice(-LAST).join("")}` : text} full={text} />;
}

/** Puts the whole name on the clipboard. */
export function CopyName({ full }: { full: string }) {
  return (
    <button type="button" className="peek copy-name" title={en.names.copy} aria-label={`${en.names.copy}: ${full.slice(0, 200)}`} onClick={() => void copyText(full)} />
  );
}

/** A user who selects a shown name and copies it gets the whole name. This effect belongs to the
 * page. */
export function copyWholeNames(): () => void {
  function copy(event: ClipboardEvent): void {
    const selection = getSelection();
    if (!selection || selection.rangeCount === 0 || selection.isCollapsed) return;
    const node = selection.getRangeAt(0).commonAncestorContainer;
    const around = node instanceof Element ? node : node.parentElement;
    const words = selection.toString().trim();
    const names = [around?.closest<HTMLElement>("[data-name]"), ...(around?.querySelectorAll<HTMLElement>("[data-name]") ?? [])];
    const name = names.find((one) => one && one.innerText.trim() === words);
    if (!name || !event.clipboardData) return;
    event.clipboardData.setData("text/plain", name.dataset.name!);
    event.preventDefault();
  }
  document.addEventListener("copy", copy);
  return () => document.removeEventListener("copy", copy);
}
