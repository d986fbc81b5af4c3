// ways.ts - the command lines that send sessions to a server at `origin`. They are those of
// gpufl-trace(1), gpufl-upload(1) and gpufl.h; the end-to-end test runs the second one.
import { firstRun as text } from "../../text/firstrun";

export interface Way {
  title: string;
  text: string;
  commands: string[];
}

/** key: a key that was just made and may send. The command writes it to the file that the other
 * command lines read. */
export const keyFile = (key: string): string => `(umask 077; printf '%s\\n' '${key}' >~/.gpufl-key)`;

export const waysIn = (origin: string): Way[] => [
  { title: text.trace, text: text.traceText, commands: ["gpufl trace --output run1 -- ./my_program", `gpufl upload --server ${origin} --api-key-file ~/.gpufl-key run1`] },
  { title: text.upload, text: text.uploadText, commands: [`gpufl upload --server ${origin} --api-key-file ~/.gpufl-key DIR`] },
  { title: text.api, text: text.apiText, commands: [`GPUFL_BACKEND_URL=${origin} GPUFL_API_KEY="$(head -1 ~/.gpufl-key)" ./my_program`] },
];
