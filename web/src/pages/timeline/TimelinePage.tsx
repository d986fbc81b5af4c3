// TimelinePage.tsx - the timeline with what other pages make: the source window and the flame graph.
import { useMemo, useState } from "react";
import type { Outside, FlameStack } from "../../timeline/outside";
import { TimelineTab } from "../../timeline/TimelineTab";
import { Icicle } from "../flame/Icicle";
import { treeOf } from "../flame/tree";
import { SourceLine } from "../insights/SourceLine";
import type { TabProps } from "../session/tabs";

function Flame({ stacks, name }: { stacks: readonly FlameStack[]; name: string }) {
  const tree = useMemo(() => treeOf(stacks, name, false), [stacks, name]);
  const [focus, setFocus] = useState(0);
  const [chosen, setChosen] = useState(0);
  return <Icicle tree={tree} label={name} focus={tree[focus] ? focus : 0} onFocus={setFocus} found={null} chosen={chosen} onChoose={setChosen} />;
}

const OUTSIDE: Outside = { Source: SourceLine, Flame };

export function TimelinePage({ session }: TabProps) {
  return <TimelineTab session={session} outside={OUTSIDE} />;
}
