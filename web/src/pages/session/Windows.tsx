// Windows.tsx - which part of a session the numbers cover, if only windows were recorded. It comes
// before any of the numbers, in the words of the report.
import { windowsOf } from "../../api/report";
import type { RowSession } from "../../api/schema";
import { between, count, duration, percent } from "../../format/format";
import { captured as text } from "../../text/captured";

/** part: the report's, with windows. */
export function Windows({ session: s, part }: { session: RowSession; part: unknown }) {
  const windows = windowsOf(part);
  const run = between(s.started, s.ended ?? s.received);
  const share = (ns: number | null): string => percent(ns !== null && run ? ns / run : null);
  if (!windows) return null;
  return (
    <div className="notice" role="note">
      {windows.opened > 0 && (
        <p>
          <strong>{text.windows}:</strong> {text.windowsText(count(windows.opened), duration(windows.recorded), share(windows.recorded), windows.stillOpen)}
        </p>
      )}
      {windows.kernelsOpened > 0 && (
        <p>
          <strong>{text.kernelWindows}:</strong> {text.kernelWindowsText(count(windows.kernelsOpened), duration(windows.kernelsRecorded), share(windows.kernelsRecorded))}
        </p>
      )}
    </div>
  );
}
