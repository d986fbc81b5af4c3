// who.ts - the identity with which the server is asked: the workspace, a link's token, and the
// header that a login's writes need. The object also knows whether a login ended while somebody
// works. A page has one such object.
type Listener = () => void;

const WORKSPACE = "gpufl.workspace";
const LINK = "gpufl.link";

function kept(storage: () => Storage, key: string): string {
  try {
    return storage().getItem(key) ?? "";
  } catch {
    return ""; // storage is switched off
  }
}

function keep(storage: () => Storage, key: string, value: string): void {
  try {
    if (value) storage().setItem(key, value);
    else storage().removeItem(key);
  } catch {
    /* The value lasts until the page is reloaded. */
  }
}

export class Who {
  workspace = ""; // chosen by somebody who is in several; "": the server chooses
  remembered = false; // that choice comes from an earlier visit, not from the address
  link = ""; // token of a share link, for this tab alone
  csrf = "";
  expired = false; // a login that worked has ended
  round = 0; // rises when everything should be asked again
  #known = false; // the server has answered somebody who was logged in
  #listeners = new Set<Listener>();

  /** What this browser remembers; an address may name its workspace. */
  static ofBrowser(): Who {
    const who = new Who();
    if (typeof location === "undefined") return who;
    const wanted = new URLSearchParams(location.search).get("workspace");
    who.workspace = wanted ?? kept(() => localStorage, WORKSPACE);
    who.remembered = wanted === null && who.workspace !== "";
    who.link = kept(() => sessionStorage, LINK);
    return who;
  }

  subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #notify(): void {
    this.#listeners.forEach((listener) => listener());
  }

  answered(): void {
    this.#known = true;
  }

  /** The server answered 401. If somebody was known, the login has ended. */
  refused(): void {
    this.csrf = "";
    if (!this.#known || this.expired || this.link) return;
    this.expired = true;
    this.#notify();
  }

  /** Logged in (again): everything on the page is asked again. */
  renewed(): void {
    this.expired = false;
    this.csrf = "";
    this.round++;
    this.#notify();
  }

  /** Logged out on purpose, which is not a login that ended. */
  forgotten(): void {
    this.#known = false;
    this.expired = false;
    this.csrf = "";
    this.#notify();
  }

  choose(workspace: string): void {
    keep(() => localStorage, WORKSPACE, workspace);
    this.workspace = workspace;
    this.remembered = false;
    this.renewed();
  }

  /** The workspace of an earlier visit does not exist any more, or not for this person: the
   * server chooses. */
  lost(): void {
    if (this.remembered) this.choose("");
  }

  opened(link: string): void {
    keep(() => sessionStorage, LINK, link);
    this.link = link;
    this.renewed();
  }
}

export const who = Who.ofBrowser();
