// questions.ts - the ready questions. They stand in a JSON file, so that a test of the server runs each.
import all from "./questions.json";
import type { PlotKind } from "./plot";

export interface Question {
  id: string;
  title: string;
  about: string;
  sql: string;
  plot: PlotKind;
  x: string;
  y: string;
}

export const QUESTIONS = all as readonly Question[];
