// Boundary.tsx - where a part of the page fails, that part says so and the rest goes on. Parts come when
// they are first opened: one that did not come, because the server was gone or has become a newer one
// meanwhile, is asked for again, or comes with the whole page; what is shown stands in the address.
import { Component, useEffect, useState, type ComponentType, type ReactNode } from "react";
import { en } from "../text/en";
import { Empty } from "./parts";

/** A part did not come; `again` makes the next one who shows it ask for it. */
class NotHere extends Error {
  constructor(
    cause: unknown,
    readonly again: () => void,
  ) {
    super(String(cause));
  }
}

export class Boundary extends Component<{ children: ReactNode }, { failed?: unknown }> {
  override state: { failed?: unknown } = {};

  static getDerivedStateFromError(failed: unknown) {
    return { failed };
  }

  override render() {
    const { failed } = this.state;
    if (failed === undefined) return this.props.children;
    const missing = failed instanceof NotHere ? failed : undefined;
    const [title, text] = missing ? [en.states.notHere, en.states.notHereText] : [en.states.broken, en.states.brokenText];
    const again = (): void => {
      missing?.again();
      this.setState({ failed: undefined });
    };
    return (
      <div role="alert">
        <Empty title={title} text={text}>
          <p className="row state-ways">
            <button type="button" className="button button-main" onClick={again}>
              {en.states.again}
            </button>
            <a className="button" href={location.pathname + location.search}>
              {en.states.reload}
            </a>
          </p>
        </Empty>
      </div>
    );
  }
}

/** A component of a module that is loaded when it is first shown, or earlier by `begin`. */
export interface Part<P> {
  (props: P): ReactNode;
  begin: () => Promise<void>;
}

/** waiting: what stands there until the module is here. The module is shown as soon as it has come: Suspense would hold
 * back what it has for 300 ms after each placeholder, and a page has one placeholder after the other. */
export function part<M, P extends object>(load: () => Promise<M>, view: (module: M) => ComponentType<P>, waiting: ReactNode = null): Part<P> {
  let Shown: ComponentType<P> | undefined;
  let missing: NotHere | undefined;
  let coming: Promise<void> | undefined;
  const begin = (): Promise<void> =>
    (coming ??= load().then(
      (module) => {
        Shown = view(module);
      },
      (cause: unknown) => {
        missing = new NotHere(cause, () => (missing = coming = undefined));
      },
    ));
  const Loaded: Part<P> = (props) => {
    const [, setCame] = useState(false);
    useEffect(() => {
      let gone = false;
      if (!Shown) void begin().then(() => gone || setCame(true));
      return () => {
        gone = true;
      };
    }, []);
    if (missing) throw missing;
    return Shown ? <Shown {...props} /> : waiting;
  };
  Loaded.begin = begin;
  return Loaded;
}
