// Owns: differences between recorded and actual answers, with names that may differ. Does not own: the answers (replay-transcript.ts).
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type Json } from "../../core/contract/index.ts";
import type { Frame } from "../client/http-call.ts";
import { parsed } from "../client/messages.ts";
import type { TranscriptAnswer } from "./transcript.ts";

/** A difference between a recorded answer and that of this run. */
export interface Difference {
  /** The step's name. */
  readonly step: string;
  /** `status`, `header …`, `body`, `frames`, `frame n`, `answer`. */
  readonly where: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

interface Comparison {
  readonly names: NameMapping;
  /** The recorded session: event ids are unique per session. */
  readonly session: string;
  readonly ignore: readonly string[];
}

/** Compares an answer with the recorded one. Additional headers are no difference. */
export function differences(
  step: string,
  expected: TranscriptAnswer,
  actual: TranscriptAnswer,
  comparison: Comparison,
): readonly Difference[] {
  const found: Difference[] = [];
  const add = (where: string, was: unknown, is: unknown): void => void found.push({ step, where, expected: was, actual: is });
  if (expected.status !== actual.status) add("status", expected.status, actual.status);
  const isEmpty = expected.body_json === undefined && expected.sse_frames === undefined;
  for (const [name, [was]] of Object.entries(expected.headers)) {
    // Servers may or may not send a type for an empty body.
    if (isEmpty && name.toLowerCase() === "content-type") continue;
    const is = actual.headers[name.toLowerCase()]?.[0];
    if (was !== undefined && !comparison.ignore.includes(name.toLowerCase()) && !sameHeader(name, was, is, comparison.names))
      add(`header ${name}`, was, is);
  }
  if (!sameMessage(expected.body_json, actual.body_json, comparison.names)) add("body", expected.body_json, actual.body_json);
  const [were, are] = [expected.sse_frames, actual.sse_frames];
  if (were?.length !== are?.length) add("frames", were, are);
  else
    for (const [at, was] of (were ?? []).entries()) {
      const is = are?.[at];
      if (is === undefined || !sameFrame(was, is, comparison)) add(`frame ${at + 1}`, was, is);
    }
  return found;
}

function sameHeader(name: string, was: string, is: string | undefined, names: NameMapping): boolean {
  if (is === undefined) return false;
  if (name.toLowerCase() === "mcp-session-id") return names.match("session", was, is);
  if (name.toLowerCase() === "content-type") return was.split(";")[0] === is.split(";")[0];
  return was === is;
}

function sameFrame(was: Frame, is: Frame, { names, session }: Comparison): boolean {
  if ((was.event ?? "message") !== (is.event ?? "message") || (was.id === undefined) !== (is.id === undefined)) return false;
  if (was.id !== undefined && is.id !== undefined && !names.match(`event of ${session}`, was.id, is.id)) return false;
  const [before, now] = [parsed(was.data), parsed(is.data)];
  return before === undefined || now === undefined ? was.data === is.data : sameMessage(before, now, names);
}

/** Whether two messages are equal. Request states and ids of questions are compared as names. */
export function sameMessage(was: Json | undefined, is: Json | undefined, names: NameMapping): boolean {
  if (!isJsonObject(was) || !isJsonObject(is)) return isDeepStrictEqual(was, is);
  if (isQuestion(was) && isQuestion(is) && names.match("question", JSON.stringify(was["id"]), JSON.stringify(is["id"])))
    return isDeepStrictEqual({ ...was, id: null }, { ...is, id: null });
  const [before, now] = [was["result"], is["result"]];
  if (isJsonObject(before) && isJsonObject(now)) {
    const [state, other] = [before["requestState"], now["requestState"]];
    if (typeof state === "string" && typeof other === "string" && names.match("state", state, other))
      return isDeepStrictEqual({ ...was, result: { ...before, requestState: null } }, { ...is, result: { ...now, requestState: null } });
  }
  return isDeepStrictEqual(was, is);
}

/** A recorded message with the names of this run. The text is unchanged if it contains no other names. */
export function renamed(text: string, names: NameMapping): string {
  const message = parsed(text);
  if (!isJsonObject(message)) return text;
  const { id = null, method, params } = message;
  if (method === undefined) {
    const called = names.of("question", JSON.stringify(id));
    return called === JSON.stringify(id) ? text : JSON.stringify({ ...message, id: parsed(called) });
  }
  const state = isJsonObject(params) ? params["requestState"] : undefined;
  if (!isJsonObject(params) || typeof state !== "string" || names.of("state", state) === state) return text;
  return JSON.stringify({ ...message, params: { ...params, requestState: names.of("state", state) } });
}

const isQuestion = (message: Json): boolean => isJsonObject(message) && "id" in message && typeof message["method"] === "string";

/** The types of names that a server chooses. Event ids are unique per session only. */
export type NameSort = "session" | "state" | "question" | `event of ${string}`;

/** Maps recorded names of a server to those of this run: they may differ, but consistently. */
export class NameMapping {
  readonly #now = new Map<string, string>();
  readonly #taken = new Set<string>();

  /** False: one of the two already corresponds to another name. */
  match(sort: NameSort, recorded: string, actual: string): boolean {
    const known = this.#now.get(`${sort} ${recorded}`);
    if (known !== undefined) return known === actual;
    if (this.#taken.has(`${sort} ${actual}`)) return false;
    this.#now.set(`${sort} ${recorded}`, actual);
    this.#taken.add(`${sort} ${actual}`);
    return true;
  }

  /** The name in this run. */
  of(sort: NameSort, recorded: string): string {
    return this.#now.get(`${sort} ${recorded}`) ?? recorded;
  }
}
