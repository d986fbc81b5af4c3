// Expired.tsx - a login ended while somebody works: the user logs in here, over the page, which
// stays as it is.
import { useSyncExternalStore } from "react";
import { who } from "../../api/who";
import { Boundary, part } from "../../ui/Boundary";

const Again = part(() => import("./Again"), (m) => m.Again);

export function Expired() {
  const expired = useSyncExternalStore(who.subscribe, () => who.expired);
  return expired ? (
    <Boundary>
      <Again />
    </Boundary>
  ) : null;
}
