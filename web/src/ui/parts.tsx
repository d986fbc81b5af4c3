// parts.tsx - the small parts of pages. They know nothing of the server: values in, picture out.
import { useEffect, useLayoutEffect, useRef, useState, type CSSProperties, type KeyboardEvent, type ReactNode } from "react";
import { tame } from "../format/tame";
import { en } from "../text/en";
import { CopyButton } from "./forms";

export function Panel({ title, aside, children }: { title?: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="panel">
      {title && (
        <div className="panel-head">
          <h2>{title}</h2>
          {aside && <span className="quiet small end">{aside}</span>}
        </div>
      )}
      {children}
    </section>
  );
}

export interface Stat {
  label: string;
  value: ReactNode;
  exact?: string;
  note?: ReactNode;
}

export function Stats({ items }: { items: Stat[] }) {
  return (
    <dl className="stats">
      {items.map((item) => (
        <div className="stat" key={item.label}>
          <dt>{item.label}</dt>
          <dd title={item.exact}>
            {item.value}
            {item.note && <small>{item.note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A part of one as a bar; null has none. Screen readers skip the bar, because the number is next to it. The bar is one element, because a
 * long table has hundreds of bars: the part is a property that the style sheet draws. */
export function Meter({ part, warm }: { part: number | null; warm?: boolean }) {
  const width = Math.max(0, Math.min(1, part ?? 0)) * 100;
  return <span className={`meter${warm ? " warm" : ""}${part === null ? " unknown" : ""}`} style={{ "--part": `${width}%` } as CSSProperties} aria-hidden="true" />;
}

export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div className="panel panel-body stack" role="status" aria-label={en.states.loading}>
      {Array.from({ length: rows }, (_, at) => (
        <div className="skeleton" key={at} />
      ))}
    </div>
  );
}

/** alone: the page has nothing else, and this is its heading. */
const StateTitle = ({ alone, children }: { alone: boolean | undefined; children: ReactNode }) => (alone ? <h1 className="state-title">{children}</h1> : <h2>{children}</h2>);

export function Empty({ title, text, alone, children }: { title: string; text?: string; alone?: boolean; children?: ReactNode }) {
  return (
    <section className="panel state">
      <StateTitle alone={alone}>{title}</StateTitle>
      {text && <p className="quiet">{text}</p>}
      {children}
    </section>
  );
}

interface Wrong {
  status: number;
  title: string;
  message: string;
  request: string | null;
}

/** The problem of a form; the message says what is wrong with the input. */
const REFUSALS = [400, 409, 413, 422];

/** onward: where to go on, for a problem that trying again does not end. */
export function ProblemView({ problem, alone, again, onward }: { problem: Wrong; alone?: boolean; again?: () => void; onward?: { label: string; href: string } }) {
  const advice = en.states.whatNow[problem.status];
  const title = REFUSALS.includes(problem.status) ? en.states.refused : problem.title || `Status ${problem.status}`;
  return (
    <section className="panel state state-problem" role="alert">
      <StateTitle alone={alone}>{title}</StateTitle>
      <p>{problem.message}</p>
      {advice && <p className="quiet">{advice}</p>}
      {problem.request && <p className="quiet small">{en.states.problemId(problem.request)}</p>}
      {problem.status === 401 && (
        <a className="button button-main" href={`/login?next=${encodeURIComponent(location.pathname + location.search)}`}>
          {en.states.logIn}
        </a>
      )}
      {again && (
        <button className="button" type="button" onClick={again}>
          {en.states.again}
        </button>
      )}
      {onward && (
        <a className="button" href={onward.href}>
          {onward.label}
        </a>
      )}
    </section>
  );
}

/** A command line to copy. A line is broken between words, never inside an option. */
export function Command({ text }: { text: string }) {
  return (
    <div className="command">
      <pre>{text.split(/(\s+)/).map((word, at) => (at % 2 ? word : <span key={at}>{word}</span>))}</pre>
      <CopyButton text={text} className="" />
    </div>
  );
}

export interface Choice {
  value: string;
  label: string;
}

export function Select({ label, value, all, choices, onChange }: { label: string; value: string; all: string; choices: Choice[]; onChange: (value: string) => void }) {
  return (
    <select className="field filter" aria-label={label} value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">{all}</option>
      {value && !choices.some((c) => c.value === value) && <option value={value}>{tame(value)}</option>}
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}

interface SearchProps {
  label: string;
  hint: string;
  value: string;
  onChange: (value: string) => void;
  onEnter?: (text: string, event: KeyboardEvent) => void;
}

/** Room for a hint, with the field's edges: letters are a bit wider than half as high. */
export const roomFor = (hint: string): string => `min(100%, ${(hint.length * 0.53 + 2.5).toFixed(2)}rem)`;

/** A search field that reports what was typed after a pause, and at once with Enter; "/" goes to it. */
export function Search({ label, hint, value, onChange, onEnter }: SearchProps) {
  const [text, setText] = useState(value);
  const reported = useRef(value);
  useEffect(() => {
    if (value !== reported.current) setText(value); // changed from outside, for example by "back"
    reported.current = value;
  }, [value]);
  useEffect(() => {
    if (text === reported.current) return;
    const timer = setTimeout(() => {
      reported.current = text;
      onChange(text);
    }, 200);
    return () => clearTimeout(timer);
  }, [text, onChange]);
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key !== "Enter") return;
    if (text !== reported.current) {
      reported.current = text;
      onChange(text);
    }
    onEnter?.(text, event);
  }
  return <input className="field search" type="search" data-search aria-label={label} placeholder={hint} style={{ minWidth: roomFor(hint) }} value={text} onChange={(event) => setText(event.target.value)} onKeyDown={onKeyDown} />;
}

export function Dialog({ title, className, onClose, children }: { title: string; className?: string; onClose: () => void; children: ReactNode }) {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    // A dialog that is removed while it is open would leave the keyboard without focus.
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog
      ref={box}
      className={className}
      aria-label={title}
      onClose={onClose}
      onClick={(event) => {
        // A click outside the box closes the dialog. Enter in a form causes a click at 0, 0, which
        // closes nothing.
        if (event.target === box.current && event.detail) box.current?.close();
      }}
    >
      {children}
    </dialog>
  );
}

/** The list of keys. */
export function KeySheet({ title, rows, onClose }: { title: string; rows: readonly (readonly [string, string])[]; onClose: () => void }) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="panel-head">
        <h2>{title}</h2>
        <button type="button" className="button end" onClick={onClose}>
          {en.forms.close}
        </button>
      </div>
      <table className="simple">
        <tbody>
          {rows.map(([keys, what]) => (
            <tr key={keys}>
              <th scope="row">
                <span className="kbd">{keys}</span>
              </th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
