// Changes.tsx - what differs between two versions of a configuration, one option a line.
import { configs as text } from "../../text/control";
import type { Difference } from "./configs";

const said = ({ before, after }: Difference): string => (after === null ? text.unset : before === null ? text.set(after) : text.from(before, after));

export function Changes({ list }: { list: readonly Difference[] }) {
  if (list.length === 0) return <p className="quiet">{text.nothing}</p>;
  return (
    <ul className="config-changes">
      {list.map((one) => (
        <li key={one.name}>
          <span className="mono">{one.name}</span>: {said(one)}
        </li>
      ))}
    </ul>
  );
}
