// SourceLine.tsx - a line of the program in the text that is kept with the session, in a window.
// Above the text are the numbers of the finding, or of the waits, that name the line.
import type { Case } from "../../api/report";
import { baseName } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { en } from "../../text/en";
import { insights as text } from "../../text/insights";
import { wordsOf } from "../../text/kernel";
import { Dialog, ProblemView, Stats } from "../../ui/parts";
import { longestOf } from "./evidence";
import { factsOf } from "./facts";
import { Launched } from "./Launched";
import { SourceText } from "./SourceText";
import { useKept } from "./useKept";

/** What a finding rests on, in the analysis's own terms; the longest wait links to itself on the
 * timeline. */
function Evidence({ session, evidence, vendor }: { session: string; evidence: Case["evidence"]; vendor: string }) {
  const facts = factsOf(evidence, wordsOf(vendor));
  const place = longestOf(evidence);
  if (facts.length === 0) return null;
  return (
    <>
      <Stats items={facts} />
      {place && (
        <p className="panel-body">
          <Link className="small" href={href("session", { session, tab: "timeline" }, place)}>
            {text.longest}
          </Link>
        </p>
      )}
    </>
  );
}

/** The line in its file, with the numbers of its finding. vendor: of the session's GPUs; "": not
 * known. */
export function SourceLine({ session, file, line, evidence, vendor = "", onClose }: { session: string; file: string; line: number; evidence: Case["evidence"]; vendor?: string; onClose: () => void }) {
  const kept = useKept(session, file);
  return (
    <Dialog title={text.evidence} className="wide-dialog" onClose={onClose}>
      <div className="panel-head">
        <h2 className="mono">
          {baseName(file)}:{line}
        </h2>
        <span className="quiet small wrap">{file}</span>
        <button type="button" className="button end" onClick={onClose}>
          {en.forms.close}
        </button>
      </div>
      <Evidence session={session} evidence={evidence} vendor={vendor} />
      <Launched session={session} file={file} line={line} />
      {kept.problem && <ProblemView problem={kept.problem} />}
      {kept.missing && <p className="panel-body quiet">{text.notKept}</p>}
      {kept.text !== null && <SourceText label={text.inFile(baseName(file))} text={kept.text} line={line} />}
    </Dialog>
  );
}
