// protocol.ts - what the page and its worker say to each other. The worker asks the server, reads the
// JSON and makes typed arrays of it, so that frames go on while pieces come in.
import type { Lod } from "./lod";
import type { Name } from "./names";
import type { Piece } from "./piece";

export interface AskLanes {
  kind: "lanes";
  session: string;
  lod: Lod;
  from: number;
  to: number;
  lanes: readonly string[];
  threads: readonly number[]; // that captured launches may be of
}

export interface AskSeries {
  kind: "series";
  session: string;
  device: number | null;
  metric: string;
  counter: number | null; // instead of the metric
  from: number;
  to: number;
  step: number; // ns
}

export type Ask = AskLanes | AskSeries;

/** As whom: api/who.ts lives in the page. */
export interface As {
  workspace: string;
  link: string;
}

/** places: the line of each stack id, from then on. */
export type Request = { id: number; ask: Ask } | { id: number; stop: true } | { id: number; places: Uint32Array };
export type Asked = Request & { as: As };

export interface Wrong {
  status: number; // 0: no answer
  title: string;
  message: string;
  request: string | null;
}

export type Reply = { id: number; names: Name[] } & ({ piece: Piece } | { wrong: Wrong });
