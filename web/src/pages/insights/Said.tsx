// Said.tsx - a sentence of the report. Where it names a section of `gpufl report`, the page links to what it shows of that section.
import { sentence } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { en } from "../../text/en";
import { insights as text } from "../../text/insights";

const SECTION = / \((?:gpufl report )?--section (idle|ledger|insights)\)/;

/** part: the idle time that the sentence is about; undefined: none. */
export function Said({ words, session, part }: { words: string; session: string; part: string | undefined }) {
  const [before, section, after] = words.split(SECTION);
  if (section === undefined) return <>{sentence(words)}</>;
  const link = section === "ledger" ? <Link href={href("session", { session, tab: "raw" })}>{en.session.tabs.raw}</Link> : section === "idle" && part ? <Link href={href("session", { session, tab: "insights" }, { part })}>{text.itsLines}</Link> : null;
  return (
    <>
      {sentence(before!)}
      {link && <> ({link})</>}
      {sentence(after!)}
    </>
  );
}
