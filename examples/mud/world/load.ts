import { readFileSync } from "node:fs";
import { isNode, isPair, isScalar, LineCounter, parseDocument, type Document } from "yaml";
import { checkReferences } from "./references.ts";
import { checkFinish } from "./finish.ts";
import { type Problem, WorldError } from "./problem.ts";
import { checkShape, fill } from "./raw.ts";
import type { World } from "./world.ts";

const LONGEST = 1_000_000;

/** Reads a world from a file. Throws `WorldError`. */
export function loadWorld(file: string): World {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new WorldError([`${file}:1:1: cannot be read (${cause instanceof Error ? cause.message : String(cause)}): name a YAML file.`]);
  }
  return parseWorld(text.startsWith("\uFEFF") ? text.slice(1) : text, file);
}

/** Parses a world from YAML and checks that it can be finished. Throws `WorldError`, whose lines begin with `file:line:col:`. */
export function parseWorld(text: string, file: string): World {
  if (text.length > LONGEST) throw new WorldError([`${file}:1:1: is longer than ${LONGEST} characters: split the world.`]);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number, sentence: string): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}: ${sentence}`;
  };
  if (document.errors.length > 0)
    throw new WorldError(document.errors.slice(0, 10).map((error) => at(error.pos[0], `is no YAML: ${error.message}.`)));
  let data: unknown;
  try {
    data = document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    throw new WorldError([`${file}:1:1: cannot be read: ${cause instanceof Error ? cause.message : String(cause)}.`]);
  }
  const tell = (problems: readonly Problem[]): WorldError =>
    new WorldError(problems.map((problem) => at(offsetOf(document, problem), problem.text)));
  const shape = checkShape(data);
  if ("problems" in shape) throw tell(shape.problems);
  const world = fill(shape.raw);
  const wrong = checkReferences(world);
  if (wrong.length > 0) throw tell(wrong);
  const unfinishable = checkFinish(world);
  if (unfinishable.length > 0) throw tell(unfinishable);
  return world;
}

/** The position of a path in the text, or of the nearest enclosing element. */
function offsetOf(document: Document, problem: Problem): number {
  const { path } = problem;
  for (let length = path.length; length > 0; length -= 1) {
    const key = path[length - 1];
    const parent: unknown = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
    const value: unknown = document.getIn(path.slice(0, length), true);
    if (isNode(value) && value.range && !(problem.atKey === true && length === path.length)) return value.range[0];
    if (isNode(parent) && "items" in parent) {
      const pair = parent.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(key));
      if (isPair(pair) && isScalar(pair.key) && pair.key.range) return pair.key.range[0];
    }
  }
  return document.contents?.range?.[0] ?? 0;
}
