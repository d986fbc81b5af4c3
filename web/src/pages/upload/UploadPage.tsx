// UploadPage.tsx - sends sessions from this browser: drop a folder, see what is in it, send it, and
// go on after an interruption.
import { useEffect, useRef, useState, type DragEvent, type InputHTMLAttributes } from "react";
import { may, useMe } from "../../api/may";
import { bytes, count, exact, percent } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { en } from "../../text/en";
import { upload as text } from "../../text/upload";
import { Check } from "../../ui/forms";
import { Empty, Meter, Panel } from "../../ui/parts";
import { filesOfDrop, filesOfInput } from "./drop";
import type { Found } from "./parts";
import "./upload.css";
import { useUpload, type Item } from "./useUpload";

function DropZone({ busy, onFiles }: { busy: boolean; onFiles: (files: Promise<Found[]> | Found[]) => void }) {
  const [over, setOver] = useState(false);
  const folder = useRef<HTMLInputElement>(null);
  const files = useRef<HTMLInputElement>(null);
  function dropped(event: DragEvent) {
    event.preventDefault();
    setOver(false);
    onFiles(filesOfDrop(event.dataTransfer));
  }
  const chosen = (input: HTMLInputElement) => {
    onFiles(filesOfInput(input.files));
    input.value = ""; // so that the same folder can be chosen again
  };
  const folders = { webkitdirectory: "" } as InputHTMLAttributes<HTMLInputElement>;
  return (
    <div
      className={over ? "drop drop-over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={dropped}
    >
      <svg viewBox="0 0 48 48" aria-hidden="true">
        <path d="M24 32V10m0 0-9 9m9-9 9 9M6 30v10h36V30" fill="none" stroke="currentcolor" strokeWidth="3" />
      </svg>
      <strong>{busy ? text.reading : text.drop}</strong>
      <div className="row">
        <button type="button" className="button button-main" onClick={() => folder.current?.click()}>
          {text.choose}
        </button>
        <button type="button" className="button" onClick={() => files.current?.click()}>
          {text.chooseFiles}
        </button>
      </div>
      <input ref={folder} type="file" multiple hidden aria-label={text.choose} data-folder {...folders} onChange={(event) => chosen(event.currentTarget)} />
      <input ref={files} type="file" multiple hidden aria-label={text.chooseFiles} accept=".log,.gz" data-files onChange={(event) => chosen(event.currentTarget)} />
    </div>
  );
}

function Line({ item, busy, onRemove }: { item: Item; busy: boolean; onRemove: () => void }) {
  const { session, state, progress, failure } = item;
  const part = session.bytes ? progress.sent / session.bytes : 1;
  const name = session.app || session.id.slice(0, 8);
  return (
    <li className={`upload-item upload-${state}`}>
      <div className="row">
        <strong className="wrap">{name}</strong>
        <span className="mono small quiet">{session.id.slice(0, 8)}</span>
        <span className="small quiet">{session.host}</span>
        <span className={state === "failed" ? "chip chip-warn end" : state === "done" ? "chip chip-good end" : "chip end"}>{text.states[state]}</span>
        {state === "done" ? (
          <Link className="button" href={href("session", { session: session.id, tab: "insights" })}>
            {text.open}
          </Link>
        ) : (
          !busy && (
            <button type="button" className="button" aria-label={`${en.forms.remove} ${name}`} onClick={onRemove}>
              {en.forms.remove}
            </button>
          )
        )}
      </div>
      <div className="row upload-progress">
        <Meter part={part} warm={state === "failed"} />
        <span className="small number" title={`${exact(progress.sent, "bytes")} / ${exact(session.bytes, "bytes")}`}>
          {percent(part)} · {bytes(progress.sent)} / {bytes(session.bytes)} · {session.parts.length} {text.columns.parts.toLowerCase()}
        </span>
        {progress.before > 0 && <span className="small quiet">{text.before(bytes(progress.before))}</span>}
      </div>
      {failure && (
        <p className="wrong" role="alert">
          {failure}
        </p>
      )}
      {progress.notes.map((note) => (
        <p key={note} className="small">
          {note}
        </p>
      ))}
      {progress.rejected > 0 && (
        <div className="small">
          <p>{text.rejected(count(progress.rejected))}</p>
          <ul className="plain-list">
            {progress.refusals.map((row, at) => (
              <li key={at} className="mono wrap">
                {text.line(row.line, row.type, row.reason)}
              </li>
            ))}
          </ul>
        </div>
      )}
    </li>
  );
}

/** What the files that were added last do not have. */
function NotFound({ nothing, leftOut }: { nothing: number; leftOut: readonly string[] }) {
  return (
    <>
      {nothing > 0 && (
        <div role="alert">
          <Empty title={text.none} text={text.noneText(`${count(nothing)} ${nothing === 1 ? "file" : "files"}`)} />
        </div>
      )}
      {leftOut.length > 0 && (
        <p className="notice" role="alert">
          {text.leftOut(leftOut.length)} <span className="mono wrap">{leftOut.slice(0, 3).join(", ")}{leftOut.length > 3 ? " …" : ""}</span>
        </p>
      )}
    </>
  );
}

/** The buttons below the list. */
function Buttons({ upload }: { upload: ReturnType<typeof useUpload> }) {
  const left = upload.items.filter((item) => item.state !== "done");
  const begun = left.some((item) => item.state === "failed" || item.state === "stopped");
  if (upload.running)
    return (
      <button type="button" className="button button-danger" onClick={upload.stop}>
        {text.stop}
      </button>
    );
  return (
    <>
      <button type="button" className="button" onClick={upload.clear}>
        {text.clear}
      </button>
      {left.length > 0 && (
        <button type="button" className="button button-main" onClick={() => void upload.start()}>
          {begun ? text.again : text.start}
        </button>
      )}
    </>
  );
}

export function UploadPage() {
  const me = useMe();
  const [complete, setComplete] = useState(true);
  const upload = useUpload(complete);
  useEffect(() => {
    document.title = `${text.title} · ${en.product}`;
  }, []);
  const { items, running } = upload;
  if (me && !may(me, "INGEST")) return <Empty alone title={text.notYours} text={text.notYoursText} />;
  return (
    <div className="stack upload">
      <div>
        <h1>{text.title}</h1>
        <p className="quiet">{text.text}</p>
      </div>
      <DropZone busy={upload.reading} onFiles={(files) => void upload.add(files)} />
      <NotFound nothing={upload.nothing} leftOut={upload.leftOut} />
      {items.length > 0 && (
        <Panel>
          <ul className="upload-list">
            {items.map((item) => (
              <Line key={item.session.id} item={item} busy={running} onRemove={() => upload.remove(item.session.id)} />
            ))}
          </ul>
          <div className="panel-body row upload-foot">
            <div>
              <Check label={text.complete} checked={complete} onChange={setComplete} />
              <p className="small quiet">{text.completeHint}</p>
            </div>
            <span className="end" />
            <Buttons upload={upload} />
          </div>
        </Panel>
      )}
    </div>
  );
}
