// causes.ts - the name of a cause of idle time, as the report's bar has it.
import { timelineText as text } from "../text/timeline";

/** A cause that is newer than this page has the report's sentence as its name. */
export const nameOfCause = (one: { cause: string; text: string } | undefined): string => (one ? (text.causes[one.cause] ?? one.text) : "");
