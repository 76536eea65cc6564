import type { Frame } from "../client/frames.ts";
import { parsed } from "../client/message.ts";
import { sameMessage } from "./same-message.ts";
import type { SameNames } from "./same-names.ts";
import type { TranscriptAnswer } from "./transcript.ts";

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
