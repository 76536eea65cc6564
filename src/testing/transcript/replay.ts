import type { Caller, Exchange } from "../../core/contract/index.ts";
import { type Exchanging, HttpCall } from "../client/http-call.ts";
import { settle } from "../simulated-clock.ts";
import { type Difference, differences, renamed, SameNames } from "./differences.ts";
import { answered } from "./record.ts";
import { PlayedStep, questionAnsweredBy, type Came, type Patience, resources } from "./step-replay.ts";
import type { Transcript, TranscriptRequest, TranscriptStep } from "./transcript.ts";

/** Options of `replayTranscript`. */
export interface ReplayOptions {
  /** Who calls. Default: `tester`, without scopes. */
  readonly caller?: Caller;
  /** Headers of answers that are not compared, in lower case. Default: those that are a transport's own, as `date` and `x-request-id`. */
  readonly ignore?: readonly string[];
  /**
   * How long a step is waited for, in real time, ms. Default: 10,000 of a remote server, and while a request, a timer or a file of this process
   * is under way; not at all where nothing is. What is given holds in any case: for what runs in a worker thread, which is not seen.
   */
  readonly withinMs?: number;
}

const WITHIN_MS = 10_000;
// Long enough for all that needs no time.
const ROUNDS = 50;
const TRANSPORTS_OWN = [
  "x-request-id",
  "connection",
  "keep-alive",
  "cache-control",
  "x-accel-buffering",
  "date",
  "transfer-encoding",
  "content-length",
];

/**
 * Says it all again, and tells what came back differently: nothing, if the list is empty. Ids of sessions, events and questions
 * and request states may be others than recorded, if they are so throughout. Steps to another path than `/mcp` are whoever's the
 * server is mounted in, and are left out. Throws where a step has another verb than POST, GET, DELETE, or no server is there.
 *
 * @example
 * ```ts
 * import { readFile } from "node:fs/promises";
 * import { readTranscript, remoteServer, replayTranscript } from "troupe/testing";
 *
 * const transcript = readTranscript(JSON.parse(await readFile("opens-the-door.json", "utf8")));
 * console.log(await replayTranscript(remoteServer("http://127.0.0.1:3000/mcp"), transcript)); // [] if all replies are the same
 * ```
 */
export async function replayTranscript(
  served: Exchanging,
  transcript: Transcript,
  { caller = { principal: "tester", scopes: [] }, ignore = TRANSPORTS_OWN, withinMs }: ReplayOptions = {},
): Promise<readonly Difference[]> {
  const patience: Patience = { withinMs: withinMs ?? WITHIN_MS, always: withinMs !== undefined || served.remote === true };
  const names = new SameNames();
  const found: Difference[] = [];
  const answers = new Set<string>();
  const open = new Set<PlayedStep>();
  const { steps } = transcript.input.mcp;
  const compare = async ({ at, call }: PlayedStep): Promise<void> => {
    const [step, expected] = [steps[at], transcript.expect.mcp.steps[at]];
    if (step === undefined || expected === undefined) return;
    const session = sessionIn(step.request.headers) ?? sessionIn(expected.headers) ?? "";
    found.push(...differences(step.name, expected, await answered(call), { names, session, ignore }));
  };
  for (const [at, step] of steps.entries()) {
    const expected = transcript.expect.mcp.steps[at];
    if (step.request.path !== "/mcp" || expected === undefined) continue;
    // A socket that has just answered is still held for a moment, and is taken for the next request too.
    await settle();
    const before = resources();
    open.add(new PlayedStep(at, step, expected, send(served, step, caller, names), before));
    const [answer, next] = [questionAnsweredBy(step), steps[at + 1]];
    if (answer !== undefined) answers.add(answer);
    const asked = next === undefined ? undefined : questionAnsweredBy(next);
    const asking = asked === undefined ? undefined : Array.from(open, (one) => one.asks(asked)).find((one) => one !== undefined);
    for (const one of open) {
      await one.soon(answers, asking, patience);
      one.note(names);
      if (!(await within(one.call.done))) continue;
      open.delete(one);
      await compare(one);
    }
  }
  for (const one of open) {
    await one.finally(patience);
    one.call.leave();
    if (await within(one.call.answer)) await compare(one);
    else found.push({ step: steps[one.at]?.name ?? "", where: "answer", expected: "one", actual: noAnswer(one.came, patience) });
  }
  return found;
}

/** One that fails by our leaving does not come either. */
const within = (coming: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    coming.then(
      () => true,
      () => false,
    ),
    settle(ROUNDS).then(() => false),
  ]);

const noAnswer = (came: Came, { withinMs }: Patience): string =>
  came === "late"
    ? `none within ${withinMs} ms: withinMs gives it longer`
    : "none, and nothing was under way: what stands at the simulated clock never comes; what a worker does, given withinMs";

function send(served: Exchanging, { name, request }: TranscriptStep, caller: Caller, names: SameNames): HttpCall {
  const { method, body } = request;
  if (!isVerb(method)) throw new Error(`${name} is a ${method}, which no MCP endpoint takes: replay POST, GET and DELETE.`);
  const headers = headersOf(request, names);
  const sent = { verb: method, headers, ...(body === undefined || body.value === "" ? undefined : { body: renamed(body.value, names) }) };
  return new HttpCall(served, sent, caller, () => undefined);
}

const isVerb = (method: string): method is Exchange["verb"] => ["POST", "GET", "DELETE"].includes(method);

const sessionIn = (headers: TranscriptRequest["headers"]): string | undefined => headers["mcp-session-id"]?.[0];

function headersOf(request: TranscriptRequest, names: SameNames): Readonly<Record<string, string>> {
  const session = sessionIn(request.headers);
  const called = (name: string, value: string): string => {
    if (name === "mcp-session-id") return names.of("session", value);
    return name === "last-event-id" ? names.of(`event of ${session ?? ""}`, value) : value;
  };
  return Object.fromEntries(
    Object.entries(request.headers).flatMap(([given, values]) => {
      const name = given.toLowerCase();
      // A header sent twice reaches a server as a list.
      return values.length === 0 ? [] : [[name, values.map((value) => called(name, value)).join(", ")]];
    }),
  );
}
