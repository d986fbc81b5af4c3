// vendor.ts - the vendor of a session's GPUs, which decides about words (text/kernel.ts).
import { list, word } from "../format/raw";
import type { RowSession } from "./schema";

/** The vendor; a session has GPUs of one vendor. "": not known. */
export const vendorOf = (session: Pick<RowSession, "gpus"> | null | undefined): string => list(session?.gpus).map((gpu) => word(gpu.vendor)).find(Boolean) ?? "";
