// Editor.tsx - the field for a statement: CodeMirror, which completes names of the tables and
// columns that the server lists.
// 
// The field is in a shadow tree: there its styles are constructed sheets, which the server's policy
// allows; the policy refuses style elements of a document. Keys that are pressed in the field stay
// there, except keys with Ctrl that the field does not use.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, startCompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { PostgreSQL, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Compartment, Prec, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, keymap, lineNumbers, type DecorationSet } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef, type RefObject } from "react";

export interface TableShape {
  name: string;
  doc: string;
  columns: { name: string; type: string; doc: string }[];
}

interface Props {
  label: string;
  value: string;
  tables: readonly TableShape[];
  error: number | null; // position in letters from the beginning
  goTo: number; // rises when the cursor is to go to the error
  onChange: (text: string) => void;
  onRun: (text: string) => void;
}

const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "0.875rem", border: "1px solid var(--line)", borderRadius: "var(--radius)" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", minHeight: "9rem", maxHeight: "24rem", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { color: "var(--ink-2)", backgroundColor: "var(--surface-2)", border: "none" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--surface-2)" },
  ".cm-tooltip": { color: "var(--ink)", backgroundColor: "var(--surface)", border: "1px solid var(--line)", borderRadius: "var(--radius)", boxShadow: "var(--shadow)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--brand-ink)", backgroundColor: "var(--brand)" },
  ".cm-tooltip-autocomplete ul li[aria-selected] .cm-completionDetail": { color: "var(--brand-ink)" },
  ".cm-completionDetail": { color: "var(--ink-2)", fontStyle: "normal" },
  ".cm-completionInfo": { maxWidth: "24rem", fontFamily: "var(--font)", whiteSpace: "normal" },
  ".cm-wrong": { textDecoration: "underline wavy var(--high)", textDecorationSkipInk: "none", backgroundColor: "color-mix(in srgb, var(--high) 18%, transparent)" },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--link)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--medium)" },
  { tag: tags.comment, color: "var(--ink-2)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--low)" },
]);

const mark = StateEffect.define<number | null>();
const wrong = Decoration.mark({ class: "cm-wrong" });

/** Marks the word at the place of the error, until the statement changes. */
const marked = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(before, change) {
    let now = change.docChanged ? Decoration.none : before;
    for (const effect of change.effects)
      if (effect.is(mark)) {
        const length = change.state.doc.length;
        const from = effect.value === null ? -1 : Math.min(effect.value, Math.max(0, length - 1));
        const word = from < 0 ? null : change.state.wordAt(from);
        now = from < 0 || length === 0 ? Decoration.none : Decoration.set(wrong.range(from, Math.max(from + 1, word?.to ?? from + 1)));
      }
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Typing over a selection. The browser would style the new text inline, which the server's
 * policy refuses. */
const overSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== "insertText" || !event.data || view.composing || view.state.selection.main.empty) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

const language = (tables: readonly TableShape[]) =>
  sql({
    dialect: PostgreSQL,
    upperCaseKeywords: true,
    schema: Object.fromEntries(
      tables.map((table) => [
        table.name,
        {
          self: { label: table.name, type: "type", info: table.doc },
          children: table.columns.map((column) => ({ label: column.name, type: "property", detail: column.type, info: column.doc })),
        },
      ]),
    ),
  });

type Newest = RefObject<Pick<Props, "onChange" | "onRun" | "tables" | "value" | "label">>;

/** What the field can do. speaks: holds the language, which changes with the tables. */
const extensionsOf = (newest: Newest, speaks: Compartment): Extension[] => [
  Prec.highest(keymap.of([{ key: "Mod-Enter", run: (view) => (newest.current.onRun(view.state.doc.toString()), true) }])),
  keymap.of([{ key: "Alt-/", run: startCompletion }, ...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
  overSelection,
  lineNumbers(),
  history(),
  drawSelection(),
  bracketMatching(),
  closeBrackets(),
  autocompletion(),
  speaks.of(language(newest.current.tables)),
  syntaxHighlighting(colours),
  marked,
  look,
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": newest.current.label, spellcheck: "false" }),
  EditorView.updateListener.of((change) => change.docChanged && newest.current.onChange(change.state.doc.toString())),
];

export default function Editor({ label, value, tables, error, goTo, onChange, onRun }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const speaks = useRef(new Compartment());
  const newest = useRef({ onChange, onRun, tables, value, label });
  newest.current = { onChange, onRun, tables, value, label };

  useEffect(() => {
    const box = host.current;
    if (!box) return;
    const root = box.shadowRoot ?? box.attachShadow({ mode: "open" });
    const editor = new EditorView({ root, parent: root, doc: newest.current.value, extensions: extensionsOf(newest, speaks.current) });
    view.current = editor;
    const keep = (event: KeyboardEvent): void => {
      if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
    };
    box.addEventListener("keydown", keep);
    return () => {
      box.removeEventListener("keydown", keep);
      editor.destroy();
      view.current = null;
    };
  }, []);

  // The statement changed from outside, for example by a ready question or "back".
  useEffect(() => {
    const editor = view.current;
    if (editor && editor.state.doc.toString() !== value) editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);
  useEffect(() => view.current?.dispatch({ effects: speaks.current.reconfigure(language(tables)) }), [tables]);
  useEffect(() => view.current?.dispatch({ effects: mark.of(error) }), [error, goTo]);
  useEffect(() => {
    const editor = view.current;
    if (!editor || goTo === 0 || error === null) return;
    editor.dispatch({ selection: { anchor: Math.min(error, editor.state.doc.length) }, scrollIntoView: true });
    editor.focus();
    // Moves the focus once for each wish, so that later errors do not take it.
  }, [goTo]);
  return <div className="sql-editor" ref={host} />;
}
