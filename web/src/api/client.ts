// client.ts - the only module that calls the server. A call names a route of docs/openapi.json; the
// compiler checks its address, parameters and answer (schema.ts). Answers are kept by their ETag,
// so that a repeated question transfers no body. The client repeats a request after 429 and 503
// when the server says so. A failure is a Problem with a sentence for people. Characters that would
// act instead of being read are replaced by their names (tame.ts). Requests go to the page's own
// origin only.
import { ROUTES, type Routes } from "./schema";
import { tame, tameJson, wild } from "../format/tame";
import { Who, who as ofPage } from "./who";

export type RouteId = keyof Routes;
export type Query<R extends RouteId> = Partial<Routes[R]["query"]>;
export type Answer<R extends RouteId> = Routes[R]["answer"];
/** Parameters of the path and of the query together: their names do not collide. */
export type Parameters<R extends RouteId> = Routes[R]["path"] & Query<R>;

/** What went wrong, in the server's own words (RFC 9457), or in ours if the server sent none. */
export class Problem extends Error {
  constructor(
    readonly status: number, // 0: no answer came
    readonly title: string,
    detail: string,
    readonly request: string | null = null, // its id in the server's log
  ) {
    super(detail);
    this.name = "Problem";
  }
}

export interface Transport {
  fetch: typeof fetch;
  wait: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

const ATTEMPTS = 4;
const WAIT_MAX = 30_000;
const CACHE_MAX = 200;

export function address(id: RouteId, parameters: Record<string, unknown>): string {
  const used = new Set<string>();
  const path = ROUTES[id][1].replace(/\{(\w+)\}/g, (_, name: string) => {
    used.add(name);
    return encodeURIComponent(wild(String(parameters[name])));
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (!used.has(name) && value !== undefined && value !== null && value !== "") query.set(name, wild(String(value)));
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** Parameters of a query that say what is asked about. The other parameters say how much of it,
 * or in which order. */
const SUBJECT = new Set(["a", "b", "by", "counter", "device", "kind", "label", "label_value", "metric", "name", "of", "shape", "tree"]);

/** What a question is about. An answer may stay on the page while another question with this
 * subject is under way; under the heading of another subject the answer would be wrong. */
export function subject(id: RouteId, parameters: Record<string, unknown>): string {
  const path = ROUTES[id][1];
  return address(id, Object.fromEntries(Object.entries(parameters).filter(([name]) => SUBJECT.has(name) || path.includes(`{${name}}`))));
}

/** How long to wait before the next attempt. A time that the server names is used first. */
export function pause(attempt: number, retryAfter: string | null): number {
  const seconds = retryAfter === null ? NaN : Number(retryAfter);
  const ms = Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : 250 * 2 ** attempt;
  return Math.min(ms, WAIT_MAX);
}

function waitFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

async function problemOf(response: Response): Promise<Problem> {
  const request = response.headers.get("X-Request-Id");
  try {
    const body = JSON.parse(tameJson(await response.text())) as { title?: unknown; detail?: unknown } | null;
    if (typeof body?.detail === "string") return new Problem(response.status, typeof body.title === "string" ? body.title : response.statusText, body.detail, request);
  } catch {
    /* A proxy answered with something else, so that the status is all that is known. */
  }
  return new Problem(response.status, response.statusText, `The server answered ${response.status} without saying why.`, request);
}

/** Sends a request, and after 429 and 503 sends it again, at most ATTEMPTS times. */
async function sendWith(transport: Transport, url: string, init: RequestInit): Promise<Response> {
  const signal = init.signal ?? undefined;
  for (let attempt = 0; ; attempt++) {
    let response: Response;
    try {
      response = await transport.fetch(url, init);
    } catch (cause) {
      if (signal?.aborted) throw cause;
      throw new Problem(0, "No answer", "The server does not answer. It may be starting, or the network is down.");
    }
    const later = response.status === 429 || response.status === 503;
    if (!later || attempt + 1 >= ATTEMPTS) return response;
    await transport.wait(pause(attempt, response.headers.get("Retry-After")), signal);
  }
}

/** The newest answers by their addresses, oldest first. */
type Kept = Map<string, { etag: string; body: unknown }>;
type Send = (url: string, init: RequestInit) => Promise<Response>;
type UrlOf = (id: RouteId, parameters: Record<string, unknown>) => string;

function keep(kept: Kept, keepMost: number, url: string, etag: string, body: unknown): void {
  if (keepMost === 0) return;
  kept.delete(url);
  kept.set(url, { etag, body });
  const oldest = kept.size > keepMost ? kept.keys().next().value : undefined;
  if (oldest !== undefined) kept.delete(oldest);
}

/** The requests that change nothing. */
function makeReader(who: Who, kept: Kept, keepMost: number, urlOf: UrlOf, send: Send) {
  const named = (): Record<string, string> => (who.link ? { Authorization: `Bearer ${who.link}` } : {});

  /** Answers and refusals show whether somebody is logged in. */
  async function checked(response: Response): Promise<Response> {
    if (response.ok || response.status === 304) return response;
    if (response.status === 401) who.refused();
    throw await problemOf(response);
  }

  /** Asks the server. The caller gets the same object again while the server says that nothing
   * changed. make: takes from the answer what the caller needs; its result is kept in place of the
   * answer, so a route is always asked with the same `make`. */
  async function get<R extends RouteId, T = Answer<R>>(id: R, parameters: Parameters<R>, signal?: AbortSignal, make?: (body: Answer<R>) => T): Promise<T> {
    const round = who.round;
    const url = urlOf(id, parameters);
    const before = kept.get(url);
    const headers: Record<string, string> = { ...named(), Accept: "application/json" };
    if (before) headers["If-None-Match"] = before.etag;
    const init: RequestInit = { headers, credentials: "same-origin", cache: "no-store" };
    const response = await send(url, signal ? { ...init, signal } : init);
    // A refusal of the login before the present one says nothing about the present one.
    if (response.status === 401 && round !== who.round && !signal?.aborted) return get(id, parameters, signal, make);
    await checked(response);
    if (ROUTES[id][2] !== "PUBLIC" || id === "me") who.answered();
    if (response.status === 304 && before) return before.body as T;
    const answer = JSON.parse(tameJson(await response.text())) as Answer<R>;
    const body = make ? make(answer) : (answer as T);
    const etag = response.headers.get("ETag");
    if (etag) keep(kept, keepMost, url, etag, body);
    return body;
  }

  /** Fetches a file where a plain link is not enough: a plain link cannot send the token of a
   * share link. */
  async function file<R extends RouteId>(id: R, parameters: Parameters<R>): Promise<Blob> {
    const response = await checked(await send(urlOf(id, parameters), { headers: named(), credentials: "same-origin" }));
    return response.blob();
  }

  /** An answer that is not JSON. */
  const text = async <R extends RouteId>(id: R, parameters: Parameters<R>): Promise<string> => tame(await (await file(id, parameters)).text());

  /** The last answer, for the first paint; undefined: there is none yet. */
  function last<R extends RouteId, T = Answer<R>>(id: R, parameters: Parameters<R>): T | undefined {
    return kept.get(urlOf(id, parameters))?.body as T | undefined;
  }

  return { get, file, text, last };
}

/** The requests that change something. get: asks who is logged in. */
function makeWriter(who: Who, kept: Kept, urlOf: UrlOf, send: Send, get: ReturnType<typeof makeReader>["get"]) {
  /** Changes something without a login (logging in itself). The request is not repeated where
   * the server may have done the work already. */
  async function post<R extends RouteId>(id: R, parameters: Parameters<R>, body: Routes[R]["body"], csrf = ""): Promise<Answer<R>> {
    const headers: Record<string, string> = { Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (csrf) headers["X-CSRF-Token"] = csrf;
    const init: RequestInit = { method: ROUTES[id][0], headers, credentials: "same-origin", ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await send(urlOf(id, parameters), init);
    if (!response.ok) throw await problemOf(response);
    kept.clear();
    return (response.status === 204 ? undefined : await response.json()) as Answer<R>;
  }

  /** The headers that a request that changes something needs, for the present login. */
  async function csrf(): Promise<string> {
    if (!who.csrf) who.csrf = (await get("me", {})).csrf ?? "";
    return who.csrf;
  }

  /** Changes something as the user who is logged in. */
  async function change<R extends RouteId>(id: R, parameters: Parameters<R>, body: Routes[R]["body"]): Promise<Answer<R>> {
    try {
      return await post(id, parameters, body, await csrf());
    } catch (cause) {
      // An address that anybody may ask answers a wrong old password with 401, too.
      if (cause instanceof Problem && cause.status === 401 && ROUTES[id][2] !== "PUBLIC") who.refused();
      else who.csrf = ""; // another tab may have logged in again
      throw cause;
    }
  }

  /** Sends a body that is not JSON. The caller gets an answer of any status, and judges the
   * answer. */
  async function sendBody<R extends RouteId>(id: R, parameters: Parameters<R>, fields: Record<string, string>, body: Blob | null, signal?: AbortSignal): Promise<{ status: number; answer: Record<string, unknown> }> {
    const headers = { ...fields, Accept: "application/json", "X-CSRF-Token": await csrf() };
    const init: RequestInit = { method: ROUTES[id][0], headers, credentials: "same-origin", body };
    const response = await send(urlOf(id, parameters), signal ? { ...init, signal } : init);
    if (response.status === 401) who.refused();
    const text = await response.text();
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch {
      answer = null; // a proxy's answer
    }
    return { status: response.status, answer: typeof answer === "object" && answer !== null ? (answer as Record<string, unknown>) : {} };
  }

  return { post, change, body: sendBody, csrf };
}

/** keepMost: how many answers are kept; 0: none, for callers that keep what they make of the
 * answers. */
export function makeClient(transport: Transport = { fetch: (...a) => fetch(...a), wait: waitFor }, who: Who = new Who(), keepMost = CACHE_MAX) {
  /** The address as this page asks it: in the workspace that was chosen. */
  function urlOf(id: RouteId, parameters: Record<string, unknown>): string {
    const workspace = who.workspace && !who.link && (ROUTES[id][2] !== "PUBLIC" || id === "me") ? who.workspace : undefined;
    return address(id, { ...parameters, workspace });
  }

  const kept: Kept = new Map();
  const send: Send = (url, init) => sendWith(transport, url, init);
  const reader = makeReader(who, kept, keepMost, urlOf, send);
  /** Forgets all answers, because somebody else asks from now on. */
  const forget = (): void => kept.clear();
  return { ...reader, ...makeWriter(who, kept, urlOf, send, reader.get), urlOf, forget };
}

export type Client = ReturnType<typeof makeClient>;
export const client = makeClient(undefined, ofPage);
