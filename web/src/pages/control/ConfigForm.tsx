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

/** base: the version that is changed; the changes are shown against it. */
export function ConfigForm({ row, from, known, onAgain, onDone, onClose }: Props) {
  const [name, setName] = useState(row?.id ?? "");
  const [settings, setSettings] = useState(from);
  const [note, setNote] = useState("");
  const [base, setBase] = useState(row);
  const box = useRef<HTMLFormElement>(null);
  useFocus(box);
  const newest = known.find(({ id }) => id === row?.id);
  const changed = differences(settingsOf(base?.options), settings);
  const taken = !row && known.some(({ id }) => id === name);
  const save = useAct(async () => {
    await client.change("named_config_put", { config: name }, { options: bodyOf(settings), note, base: base?.version ?? 0 });
    onDone(name);
  });
  const isConflict = save.problem instanceof Problem && save.problem.status === 409;
  const isMoved = base !== null && newest !== undefined && newest.version !== base.version;
  // The newest version becomes the base as soon as it is known, even long after the click.
  const [waits, setWaits] = useState(false);
  if (waits && isMoved) {
    setWaits(false);
    setBase(newest);
    save.clear();
  }
  function compare(): void {
    setWaits(true);
    onAgain();
  }
  const fits = isName(name) && !taken && !settings.some(wrongValue);
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (fits) void save.run();
  }
  return (
    <Panel title={row ? text.changeTitle(row.id) : text.makeTitle}>
      <form ref={box} className="panel-body stack" aria-label={row ? text.changeTitle(row.id) : text.makeTitle} onSubmit={submit}>
        {!row && <Field name="name" label={text.name} hint={text.nameHint} value={name} onChange={setName} />}
        {!row && name !== "" && (!isName(name) || taken) && (
          <p className="wrong" role="status">
            {taken ? text.taken : text.wrongName}
          </p>
        )}
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
        {(isMoved || isConflict) && (
          <div className="row" role="status">
            {isMoved && <span>{text.conflict(newest.version ?? 0)}</span>}
            <button type="button" className="button" onClick={compare}>
              {text.read}
            </button>
          </div>
        )}
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
