// raw.ts - reads answers that are described in words alone (docs/report.md, history.md,
// compare.md). A value of an unexpected kind is unknown.
export type Raw = Record<string, unknown>;

export const raw = (value: unknown): Raw => (typeof value === "object" && value !== null ? (value as Raw) : {});
export const list = (value: unknown): Raw[] => (Array.isArray(value) ? value.map(raw) : []);
export const number = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);
export const word = (value: unknown): string => (typeof value === "string" ? value : value === null || value === undefined ? "" : String(value));
