// place.ts - a source line as text in addresses, and how two paths of one file are recognised.
import { baseName } from "./format";

export interface SourcePlace {
  file: string;
  line: number;
}

export const placeText = ({ file, line }: SourcePlace): string => `${file}:${line}`;

/** null: the text names no line. */
export function placeOf(text: string): SourcePlace | null {
  const [, file, line] = /^(.+):(\d{1,9})$/s.exec(text) ?? [];
  return file && line ? { file, line: Number(line) } : null;
}

/** Whether rows with paths mean a file: by that very path if one of the rows has it, otherwise
 * by the file's name. */
export function sameFile(paths: readonly string[], file: string): (path: string) => boolean {
  return paths.includes(file) ? (path) => path === file : (path) => path !== "" && baseName(path) === baseName(file);
}
