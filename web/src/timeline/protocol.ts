// protocol.ts - the messages between the page and its worker. The worker asks the server, parses
// the JSON and makes typed arrays, so that frames continue while pieces arrive.
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
  threads: readonly number[]; // threads that may have captured launches
}

export interface AskSeries {
  kind: "series";
  session: string;
  device: number | null;
  metric: string;
  counter: number | null; // in place of the metric
  from: number;
  to: number;
  step: number; // ns
}

export type Ask = AskLanes | AskSeries;

/** The identity for requests; api/who.ts lives in the page. */
export interface As {
  workspace: string;
  link: string;
}

/** places: the line of each stack id, from now on. */
export type Request = { id: number; ask: Ask } | { id: number; stop: true } | { id: number; places: Uint32Array };
export type Asked = Request & { as: As };

export interface Wrong {
  status: number; // 0: no answer
  title: string;
  message: string;
  request: string | null;
}

export type Reply = { id: number; names: Name[] } & ({ piece: Piece } | { wrong: Wrong });
