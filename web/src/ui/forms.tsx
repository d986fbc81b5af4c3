// forms.tsx - inputs and confirmations: labelled fields, a button that copies, a question before
// something that cannot be undone. The components take values and report events.
import { useEffect, useId, useRef, useState, type ChangeEvent, type ReactNode } from "react";
import { en } from "../text/en";
import { Dialog } from "./parts";

interface FieldProps {
  name: string;
  label: string;
  type?: string;
  complete?: string;
  value?: string;
  hint?: string;
  optional?: boolean;
  least?: number;
  unit?: string; // of the number
  empty?: string; // what an empty field means
  onChange?: (value: string) => void;
}

export function Field({ name, label, type = "text", complete = "off", value, hint, optional, least, unit, empty, onChange }: FieldProps) {
  const id = useId();
  const input = (
    <input
      className="field"
      name={name}
      type={type}
      required={!optional}
      autoComplete={complete}
      min={least}
      placeholder={empty}
      {...(onChange ? { value: value ?? "", onChange: (event: ChangeEvent<HTMLInputElement>) => onChange(event.target.value) } : { defaultValue: value })}
      aria-describedby={hint ? id : undefined}
    />
  );
  return (
    <label className="stack-tight field-of">
      <span className="small quiet">{label}</span>
      {unit ? (
        <span className="with-unit">
          {input} {unit}
        </span>
      ) : (
        input
      )}
      {hint && (
        <span className="small quiet" id={id}>
          {hint}
        </span>
      )}
    </label>
  );
}

export interface Option {
  value: string;
  label: string;
}

export function Pick({ name, label, value, options, onChange, hide }: { name?: string; label: string; value: string; options: readonly Option[]; onChange: (value: string) => void; hide?: boolean }) {
  return (
    <label className="stack-tight field-of">
      <span className={hide ? "hidden-label" : "small quiet"}>{label}</span>
      <select className="field" name={name} value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Check({ label, checked, onChange }: { label: string; checked: boolean; onChange: (checked: boolean) => void }) {
  return (
    <label className="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} /> {label}
    </label>
  );
}

/** Puts a text on the clipboard. Without HTTPS browsers have no clipboard API; the fallback
 * selects the text and uses the old command. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden-label";
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function CopyButton({ text, label = en.forms.copy, className = "button" }: { text: string; label?: string; className?: string }) {
  const [state, setState] = useState<"" | "done" | "failed">("");
  useEffect(() => setState(""), [text]);
  return (
    <button type="button" className={className} onClick={() => void copyText(text).then((done) => setState(done ? "done" : "failed"))}>
      <span aria-live="polite">{state === "done" ? en.forms.copied : state === "failed" ? en.forms.copyFailed : label}</span>
    </button>
  );
}

interface AskProps {
  title: string;
  action: string;
  busy?: boolean;
  danger?: boolean;
  disabled?: boolean;
  problem?: { message: string } | undefined; // why it failed
  done?: boolean; // nothing is left to do
  onDo: () => void;
  onClose: () => void;
  children?: ReactNode;
}

/** A question that must be answered before something happens. */
export function Ask({ title, action, busy, danger, disabled, problem, done, onDo, onClose, children }: AskProps) {
  const cancel = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (danger) cancel.current?.focus();
  }, [danger]);
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="panel-body stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (done) onClose();
          else onDo();
        }}
      >
        <h2>{title}</h2>
        {children}
        {problem && (
          <p className="wrong" role="alert">
            {problem.message}
          </p>
        )}
        <div className="row">
          {!done && (
            <button type="button" ref={cancel} className="button end" onClick={onClose}>
              {en.forms.cancel}
            </button>
          )}
          <button type="submit" className={done ? "button button-main end" : danger ? "button button-danger" : "button button-main"} disabled={busy || disabled}>
            {done ? en.forms.done : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** A list of links to views next to each other. */
export function Choices<T extends string>({ label, value, options, onChange }: { label: string; value: T; options: readonly { value: T; label: string }[]; onChange: (value: T) => void }) {
  return (
    <div className="row choices" role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option.value} type="button" className="button" aria-pressed={option.value === value} onClick={() => onChange(option.value)}>
          {option.label}
        </button>
      ))}
    </div>
  );
}
