// ConfigForm.tsx - the form that writes a version of a configuration: one line for each option that
// is set, and the changes that saving makes.
import { useLayoutEffect, useRef, useState, type FormEvent, type RefObject } from "react";
import { client, Problem } from "../../api/client";
import { BACKENDS, ENGINES, OPTIONS, type Option } from "../../api/options";
import type { RowNamedConfig } from "../../api/schema";
import { useAct } from "../../api/use";
import { exact } from "../../format/format";
import { configForm as text } from "../../text/control";
import { en } from "../../text/en";
import { Field, Pick } from "../../ui/forms";
import { Panel } from "../../ui/parts";
import { bodyOf, differences, firstValue, isName, settingsOf, wrongValue, type Setting } from "./configs";
import { Changes } from "./Changes";

const WORDS: Partial<Record<Option["kind"], readonly string[]>> = { BOOL: ["true", "false"], ENGINE: ENGINES, BACKEND: BACKENDS };

function Value({ setting, onChange }: { setting: Setting; onChange: (value: string) => void }) {
  const option = OPTIONS[setting.name];
  const label = option?.unit ? `${setting.name}, ${option.unit}` : setting.name;
  const words = option && WORDS[option.kind];
  const wrong = wrongValue(setting) && option;
  return (
    <div className="config-value">
      {words ? (
        <Pick label={label} value={setting.value} onChange={onChange} options={(words.includes(setting.value) ? words : [setting.value, ...words]).map((value) => ({ value, label: value }))} />
      ) : (
        <Field name={setting.name} label={label} optional value={setting.value} onChange={onChange} />
      )}
      {wrong && (
        <p className="wrong small" role="status">
          {text.wrongNumber(exact(wrong.least), wrong.most === null ? null : exact(wrong.most))}
        </p>
      )}
    </div>
  );
}

function Settings({ settings, onChange }: { settings: readonly Setting[]; onChange: (settings: Setting[]) => void }) {
  const rest = Object.keys(OPTIONS).filter((name) => !settings.some((setting) => setting.name === name)).sort();
  const put = (at: number, value: string) => onChange(settings.map((setting, n) => (n === at ? { ...setting, value } : setting)));
  return (
    <fieldset className="config-settings">
      <legend className="hidden-label">{text.options}</legend>
      {settings.length === 0 && <p className="quiet">{text.noneYet}</p>}
      {settings.map((setting, at) => (
        <div className="config-setting" key={setting.name}>
          <Value setting={setting} onChange={(value) => put(at, value)} />
          <p className="quiet small config-doc">{OPTIONS[setting.name]?.doc}</p>
          <button type="button" className="button" aria-label={text.take(setting.name)} onClick={() => onChange(settings.filter((_, n) => n !== at))}>
            {text.takeShort}
          </button>
        </div>
      ))}
      <div className="form-line">
        <Pick
          label={text.add}
          value=""
          onChange={(name) => name && onChange([...settings, { name, value: firstValue(OPTIONS[name]!) }])}
          options={[{ value: "", label: text.addChoose }, ...rest.map((name) => ({ value: name, label: name }))]}
        />
      </div>
    </fieldset>
  );
}

/** Moves the focus into the form while the form is open, and back afterwards. */
function useFocus(form: RefObject<HTMLFormElement | null>): void {
  useLayoutEffect(() => {
    const before = document.activeElement;
    form.current?.querySelector<HTMLElement>("input, select, button")?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, [form]);
}

interface Props {
  row: RowNamedConfig | null; // null: a new configuration
  from: Setting[]; // the settings that the form begins with
  known: readonly RowNamedConfig[];
  onAgain: () => void; // asks for the newest versions
  onDone: (name: string) => void;
  onClose: () => void;
}

/** A new configuration's name, and what is wrong with it. */
function NewName({ name, taken, onChange }: { name: string; taken: boolean; onChange: (name: string) => void }) {
  return (
    <>
      <Field name="name" label={text.name} hint={text.nameHint} value={name} onChange={onChange} />
      {name !== "" && (!isName(name) || taken) && (
        <p className="wrong" role="status">
          {taken ? text.taken : text.wrongName}
        </p>
      )}
    </>
  );
}

/** Somebody else has saved a version since: number `version`, or null as long as it is unknown. */
function Conflict({ version, onCompare }: { version: number | null; onCompare: () => void }) {
  return (
    <div className="row" role="status">
      {version !== null && <span>{text.conflict(version)}</span>}
      <button type="button" className="button" onClick={onCompare}>
        {text.read}
      </button>
    </div>
  );
}

/** The version that is changed, against which the changes are shown. After `wait` the newest version
 * takes its place as soon as it is known, even long after the click. */
function useBase(row: RowNamedConfig | null, known: readonly RowNamedConfig[], onMove: () => void) {
  const [base, setBase] = useState(row);
  const [waits, setWaits] = useState(false);
  const newest = known.find(({ id }) => id === row?.id);
  const moved = base !== null && newest !== undefined && newest.version !== base.version ? newest : null;
  if (waits && moved) {
    setWaits(false);
    setBase(moved);
    onMove();
  }
  return { base, moved, wait: () => setWaits(true) };
}

export function ConfigForm({ row, from, known, onAgain, onDone, onClose }: Props) {
  const [name, setName] = useState(row?.id ?? "");
  const [settings, setSettings] = useState(from);
  const [note, setNote] = useState("");
  const box = useRef<HTMLFormElement>(null);
  useFocus(box);
  const save = useAct(async () => {
    await client.change("named_config_put", { config: name }, { options: bodyOf(settings), note, base: base?.version ?? 0 });
    onDone(name);
  });
  const { base, moved, wait } = useBase(row, known, save.clear);
  const changed = differences(settingsOf(base?.options), settings);
  const taken = !row && known.some(({ id }) => id === name);
  const isConflict = save.problem instanceof Problem && save.problem.status === 409;
  const fits = isName(name) && !taken && !settings.some(wrongValue);
  function compare(): void {
    wait();
    onAgain();
  }
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (fits) void save.run();
  }
  return (
    <Panel title={row ? text.changeTitle(row.id) : text.makeTitle}>
      <form ref={box} className="panel-body stack" aria-label={row ? text.changeTitle(row.id) : text.makeTitle} onSubmit={submit}>
        {!row && <NewName name={name} taken={taken} onChange={setName} />}
        <Settings settings={settings} onChange={setSettings} />
        <Field name="note" label={text.note} hint={text.noteHint} optional value={note} onChange={setNote} />
        {row && (
          <section className="stack-tight">
            <h3>{text.saves}</h3>
            <Changes list={changed} />
          </section>
        )}
        {save.problem && (
          <p className="wrong" role="alert">
            {save.problem.message}
          </p>
        )}
        {(moved || isConflict) && <Conflict version={moved && (moved.version ?? 0)} onCompare={compare} />}
        <div className="row">
          <button type="button" className="button" onClick={onClose}>
            {en.forms.cancel}
          </button>
          <button type="submit" className="button button-main" disabled={save.busy || !fits || (row !== null && changed.length === 0)}>
            {row ? text.save : text.makeIt}
          </button>
        </div>
      </form>
    </Panel>
  );
}
