// Boundary.tsx - where a part of the page fails, that part says so and the rest goes on.
import { Component, type ReactNode } from "react";
import { en } from "../text/en";
import { Empty } from "./parts";

export class Boundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? <Empty title={en.states.broken} text={en.states.brokenText} /> : this.props.children;
  }
}
