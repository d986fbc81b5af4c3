// config.ts - a launch configuration in words: grid, block, registers, shared memory, occupancy.
import { bytes, percent } from "../format/format";
import type { Words } from "../text/kernel";
import { timelineText as text } from "../text/timeline";

type Cell = number | null;

export interface RowConfig {
  config: Cell;
  grid_x: Cell;
  grid_y: Cell;
  grid_z: Cell;
  block_x: Cell;
  block_y: Cell;
  block_z: Cell;
  registers: Cell;
  shared_static: Cell;
  shared_dynamic: Cell;
  local: Cell;
  warps: Cell;
  max_warps: Cell;
}

const size = (x: Cell, y: Cell, z: Cell): string | null => (x === null ? null : [x, y ?? 1, z ?? 1].join(" × "));

/** [name, value], in the words of the GPU's vendor; an unknown value is left out. */
export function factsOfConfig(row: RowConfig, { launch }: Pick<Words, "launch">): [string, string][] {
  const shared = row.shared_static === null && row.shared_dynamic === null ? null : (row.shared_static ?? 0) + (row.shared_dynamic ?? 0);
  const facts: [string, string | null][] = [
    [text.grid, size(row.grid_x, row.grid_y, row.grid_z)],
    [launch.block, size(row.block_x, row.block_y, row.block_z)],
    [launch.registers, row.registers === null ? null : String(row.registers)],
    [launch.shared, shared === null ? null : bytes(shared)],
    [launch.local, row.local ? bytes(row.local) : null],
    [text.occupancy, row.warps !== null && row.max_warps ? launch.occupancyOf(percent(row.warps / row.max_warps), row.warps, row.max_warps) : null],
  ];
  return facts.filter((fact): fact is [string, string] => fact[1] !== null);
}
