import { isDeepStrictEqual } from "node:util";
import type { Frame } from "../client/http-call.ts";
import { parsed } from "../client/messages.ts";
import type { TranscriptAnswer } from "./transcript.ts";
import { isJsonObject, type Json } from "../../core/contract/index.ts";

/** Where an answer is not what was recorded. */
export interface Difference {
  /** Its name. */
  readonly step: string;
  /** `status`, `header …`, `body`, `frames`, `frame n`, `answer`. */
  readonly where: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

interface Judging {
  readonly names: SameNames;
  /** As it was recorded: event ids are its own. */
  readonly session: string;
  readonly ignore: readonly string[];
}

/** What is expected has to be there; headers beyond that may be. */
export function differences(step: string, expected: TranscriptAnswer, actual: TranscriptAnswer, judging: Judging): readonly Difference[] {
  const found: Difference[] = [];
  const told = (where: string, was: unknown, is: unknown): void => void found.push({ step, where, expected: was, actual: is });
  if (expected.status !== actual.status) told("status", expected.status, actual.status);
  const isEmpty = expected.body_json === undefined && expected.sse_frames === undefined;
  for (const [name, [was]] of Object.entries(expected.headers)) {
    // Of nothing, servers say a type or say none.
    if (isEmpty && name.toLowerCase() === "content-type") continue;
    const is = actual.headers[name.toLowerCase()]?.[0];
    if (was !== undefined && !judging.ignore.includes(name.toLowerCase()) && !sameHeader(name, was, is, judging.names))
      told(`header ${name}`, was, is);
  }
  if (!sameMessage(expected.body_json, actual.body_json, judging.names)) told("body", expected.body_json, actual.body_json);
  const [were, are] = [expected.sse_frames, actual.sse_frames];
  if (were?.length !== are?.length) told("frames", were, are);
  else
    for (const [at, was] of (were ?? []).entries()) {
      const is = are?.[at];
      if (is === undefined || !sameFrame(was, is, judging)) told(`frame ${at + 1}`, was, is);
    }
  return found;
}

function sameHeader(name: string, was: string, is: string | undefined, names: SameNames): boolean {
  if (is === undefined) return false;
  if (name.toLowerCase() === "mcp-session-id") return names.match("session", was, is);
  if (name.toLowerCase() === "content-type") return was.split(";")[0] === is.split(";")[0];
  return was === is;
}

function sameFrame(was: Frame, is: Frame, { names, session }: Judging): boolean {
  if ((was.event ?? "message") !== (is.event ?? "message") || (was.id === undefined) !== (is.id === undefined)) return false;
  if (was.id !== undefined && is.id !== undefined && !names.match(`event of ${session}`, was.id, is.id)) return false;
  const [before, now] = [parsed(was.data), parsed(is.data)];
  return before === undefined || now === undefined ? was.data === is.data : sameMessage(before, now, names);
}

/** Whether two messages say the same. What the server alone can read, and what it calls its questions, are names. */
export function sameMessage(was: Json | undefined, is: Json | undefined, names: SameNames): boolean {
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

/** A recorded message as the server of this run has to be told it. Text as it is where nothing is called otherwise. */
export function renamed(text: string, names: SameNames): string {
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

/** What a server names itself. Event ids are a session's own: another session's may be the same. */
export type NameSort = "session" | "state" | "question" | `event of ${string}`;

/** Names a server chose: another run may choose others, but each for the same thing throughout. */
export class SameNames {
  readonly #now = new Map<string, string>();
  readonly #taken = new Set<string>();

  /** False: it stood for something else before. */
  match(sort: NameSort, recorded: string, actual: string): boolean {
    const known = this.#now.get(`${sort} ${recorded}`);
    if (known !== undefined) return known === actual;
    if (this.#taken.has(`${sort} ${actual}`)) return false;
    this.#now.set(`${sort} ${recorded}`, actual);
    this.#taken.add(`${sort} ${actual}`);
    return true;
  }

  /** What it is called in this run. */
  of(sort: NameSort, recorded: string): string {
    return this.#now.get(`${sort} ${recorded}`) ?? recorded;
  }
}
