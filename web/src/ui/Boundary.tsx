// Boundary.tsx - if a part of the page fails, that part says so and the rest continues. Parts are
// loaded when they are first opened. A part that could not be loaded, because the server was away
// or has been replaced by a newer one, is loaded again, or the whole page is; the address keeps
// what is shown.
import { Component, useEffect, useState, type ComponentType, type ReactNode } from "react";
import { en } from "../text/en";
import { Empty } from "./parts";

/** A part could not be loaded; after `again` the next component that shows it loads it again. */
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

/** waiting: the placeholder until the module is loaded. The module is shown as soon as it is
 * loaded: Suspense would delay it by 300 ms after each placeholder, and a page has one
 * placeholder after the other. */
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
