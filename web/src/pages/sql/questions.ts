// questions.ts - the ready questions. They are in a JSON file, so that tests of the server run
// each: `sql` for sessions in files, `clickhouse` for sessions in ClickHouse. One question has no
// `clickhouse`, because it needs a recursive statement.
import all from "./questions.json";
import type { PlotKind } from "./plot";

export interface Question {
  id: string;
  title: string;
  about: string;
  sql: string;
  clickhouse?: string;
  plot: PlotKind;
  x: string;
  y: string;
}

const QUESTIONS = all as readonly Question[];

/** The questions that the server can be asked, in its dialect. */
export function questionsIn(dialect: unknown): readonly Question[] {
  if (dialect !== "clickhouse") return QUESTIONS;
  return QUESTIONS.flatMap((question) => (question.clickhouse ? [{ ...question, sql: question.clickhouse }] : []));
}
