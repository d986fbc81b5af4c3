// TimePart.tsx - where a part of the GPUs' whole time leads: to its finding, to its lines, and to its
// longest gap, kernel or copy on the timeline. Loaded when a part is first chosen.
import { useEffect, useMemo, useRef } from "react";
import type { IdleLine, TimePart as Time, Whole } from "../../api/report";
import type { RowFinding } from "../../api/schema";
import { duration, exact, percent } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { en } from "../../text/en";
import { idle as text } from "../../text/idle";
import { findingOf, rowsOf } from "./causes";
import { IdleLines } from "./IdleLines";

export interface TimeProps {
  session: string;
  parts: readonly Time[];
  whole: Whole;
  lines: readonly IdleLine[];
  findings: readonly RowFinding[];
  about: (finding: RowFinding) => readonly string[]; // the parts of the time that a finding is about
  onLine: (line: string) => void;
  onFinding: (finding: RowFinding) => void;
}

/** The tab with all rows of a part that is work. */
const TABS: Record<string, string> = { kernels: "kernels", copies: "memory" };

const SHORT = "back_to_back"; // the idle time whose gaps are too short for the timeline (docs/timeline.md)

export function TimePart({ part, time: { session, lines, findings, about, whole: { startUp }, onLine, onFinding } }: { part: Time; time: TimeProps }) {
  const finding = findingOf(part.part, lines, findings, about);
  const tab = TABS[part.part];
  const rows = useMemo(() => rowsOf(part.part, lines), [part.part, lines]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    void box.current?.scrollIntoView({ block: "nearest" }); // a link of a card below may lead here
  }, [part.part]);
  const place = part.part === SHORT ? undefined : text.longest[part.idle ? "gap" : part.part];
  const show = `${part.idle ? `gap.${part.part}` : part.part}.${Math.round(startUp)}`;
  return (
    <div className="time-part" ref={box}>
      <p className="row" role="status">
        <strong>{part.name}</strong>
        <span className="number" title={exact(part.ns, "ns")}>
          {duration(part.ns)}, {percent(part.permille / 1000)}
        </span>
        {finding && (
          <button type="button" className="button" onClick={() => onFinding(finding)}>
            {text.toFinding}
          </button>
        )}
        {place && <Link href={href("session", { session, tab: "timeline" }, { show })}>{place}</Link>}
        {tab && <Link href={href("session", { session, tab })}>{en.session.tabs[tab]}</Link>}
        {part.part === SHORT && <span className="quiet small">{text.tooShort}</span>}
      </p>
      {rows.length > 0 && <IdleLines name={part.name} rows={rows} onLine={onLine} />}
    </div>
  );
}
