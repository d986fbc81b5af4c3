// Ask.tsx - the form that asks for a capture: engine, duration, and scopes. The form says before
// the click if no agent would take the request.
import { useState } from "react";
import { client } from "../../api/client";
import type { Routes, RowSession } from "../../api/schema";
import { useAct, useApi } from "../../api/use";
import { vendorOf } from "../../api/vendor";
import { capture as text } from "../../text/control";
import { wordsOf } from "../../text/kernel";
import { Ask as Question, Field, Pick } from "../../ui/forms";
import { useNow } from "../fleet/fresh";
import { seenText } from "../fleet/GpuCard";
import { durationOf, engineFor, ENGINES, readiness, type Engine } from "./captures";

interface Props {
  host: string;
  session: RowSession | null; // null: all sessions that run on the host
  onDone: () => void;
  onClose: () => void;
}

export function Ask({ host, session, onDone, onClose }: Props) {
  const [engine, setEngine] = useState<Engine>(() => engineFor(session));
  const [seconds, setSeconds] = useState("5");
  const [scope, setScope] = useState("");
  const agents = useApi("agents", {}, 5000);
  const now = useNow(agents.data);
  const duration = durationOf(seconds);
  const ask = useAct(async () => {
    if (duration === null) return;
    const body = { ...(session ? { session: session.id } : { host }), engine, duration, scope };
    await client.change("capture_make", {}, body as Routes["capture_make"]["body"]); // the server takes either a session or a host
    onDone();
  });
  const agent = agents.data && readiness(agents.data.rows, host, now);
  const isReady = agent?.ready === true;
  return (
    <Question title={session ? text.title(session.app || session.id.slice(0, 8)) : text.hostTitle(host)} action={text.action} busy={ask.busy} disabled={duration === null || !isReady} problem={ask.problem ?? agents.problem} onDo={() => void ask.run()} onClose={onClose}>
      <p>{text.text}</p>
      {agent && !agent.ready && (
        <p className="wrong" role="status">
          {agent.why === "none" ? text.noAgent(host) : text.silent(host, seenText(agent.seen, now))}
        </p>
      )}
      <Pick label={text.engine} value={engine} onChange={(value) => setEngine(value as Engine)} options={ENGINES.map((value) => ({ value, label: value }))} />
      <p className="quiet small">
        {engine === "PcSampling" && (session ? wordsOf(vendorOf(session)).sampling : text.samplingOfHost)} {text.engines[engine]} {text.trace}
      </p>
      <Field name="duration" label={text.duration} hint={text.durationHint} value={seconds} onChange={setSeconds} />
      {duration === null && (
        <p className="wrong" role="status">
          {text.durationWrong}
        </p>
      )}
      <Field name="scope" label={text.scope} hint={text.scopeHint} optional value={scope} onChange={setScope} />
    </Question>
  );
}
