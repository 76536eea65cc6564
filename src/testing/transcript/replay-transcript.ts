// Owns: `replayTranscript`: sends a transcript's requests again, and collects the differences. Does not own: finding them (differences.ts).
import { checkOptions, TEXTS, type Caller, type Exchange } from "../../core/contract/index.ts";
import { type Exchanging, HttpCall } from "../client/http-call.ts";
import { settle } from "../simulated-clock.ts";
import { type Difference, differences, NameMapping, renamed } from "./differences.ts";
import { answered } from "./record-transcript.ts";
import { questionAnsweredBy, resources, StepReplay, type WaitLimits, type WaitOutcome } from "./step-replay.ts";
import type { Transcript, TranscriptRequest, TranscriptStep } from "./transcript.ts";

/** Options of `replayTranscript`. */
export interface ReplayOptions {
  /** The caller. Default: `tester`, without scopes. */
  readonly caller?: Caller;
  /** Headers of answers that are not compared, in lower case. Default: those of transports, such as `date` and `x-request-id`. */
  readonly ignore?: readonly string[];
  /**
   * The longest wait for a step, in milliseconds of real time. Default: 10,000, but for a server in this process only while a request, a
   * timer or a file is pending. A given value always applies, since worker threads cannot be observed.
   */
  readonly withinMs?: number;
}

const WITHIN_MS = 10_000;
// Enough for everything that does not wait for time.
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
 * Sends the recorded requests again, and returns the differences between the answers: an empty list if there are none. Ids of sessions,
 * events and questions, and request states, may differ from the recorded ones if they do so consistently. Steps to another path than
 * `/mcp` belong to the application around the server, and are skipped. Throws if a step has another verb than POST, GET or DELETE, or if
 * the server cannot be reached.
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
  options: ReplayOptions = {},
): Promise<readonly Difference[]> {
  checkOptions("replayTranscript", options, { caller: true, ignore: TEXTS, withinMs: true });
  const { caller = { principal: "tester", scopes: [] }, ignore = TRANSPORTS_OWN, withinMs } = options;
  const limits: WaitLimits = { withinMs: withinMs ?? WITHIN_MS, always: withinMs !== undefined || served.remote === true };
  const names = new NameMapping();
  const found: Difference[] = [];
  const answers = new Set<string>();
  const open = new Set<StepReplay>();
  const { steps } = transcript.input.mcp;
  const compare = async ({ at, call }: StepReplay): Promise<void> => {
    const [step, expected] = [steps[at], transcript.expect.mcp.steps[at]];
    if (step === undefined || expected === undefined) return;
    const session = sessionIn(step.request.headers) ?? sessionIn(expected.headers) ?? "";
    found.push(...differences(step.name, expected, await answered(call), { names, session, ignore }));
  };
  for (const [at, step] of steps.entries()) {
    const expected = transcript.expect.mcp.steps[at];
    if (step.request.path !== "/mcp" || expected === undefined) continue;
    // A socket stays active for a moment after its answer, and may serve the next request too.
    await settle();
    const before = resources();
    open.add(new StepReplay(at, step, expected, send(served, step, caller, names), before));
    const [answer, next] = [questionAnsweredBy(step), steps[at + 1]];
    if (answer !== undefined) answers.add(answer);
    const nextId = next === undefined ? undefined : questionAnsweredBy(next);
    const question = nextId === undefined ? undefined : Array.from(open, (one) => one.question(nextId)).find((one) => one !== undefined);
    for (const one of open) {
      await one.untilQuestion(answers, question, limits);
      one.storeNames(names);
      if (!(await within(one.call.done))) continue;
      open.delete(one);
      await compare(one);
    }
  }
  for (const one of open) {
    await one.untilEnd(limits);
    one.call.leave();
    if (await within(one.call.answer)) await compare(one);
    else found.push({ step: steps[one.at]?.name ?? "", where: "answer", expected: "one", actual: noAnswer(one.outcome, limits) });
  }
  return found;
}

/** False for a promise that rejects, as one does when the connection is closed. */
const within = (coming: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    coming.then(
      () => true,
      () => false,
    ),
    settle(ROUNDS).then(() => false),
  ]);

const noAnswer = (outcome: WaitOutcome, { withinMs }: WaitLimits): string =>
  outcome === "timeout"
    ? `none within ${withinMs} ms: withinMs gives it longer`
    : "none, and nothing was under way: what stands at the simulated clock never comes; what a worker does, given withinMs";

function send(served: Exchanging, { name, request }: TranscriptStep, caller: Caller, names: NameMapping): HttpCall {
  const { method, body } = request;
  if (!isVerb(method)) throw new Error(`${name} is a ${method}, which no MCP endpoint takes: replay POST, GET and DELETE.`);
  const headers = headersOf(request, names);
  const sent = { verb: method, headers, ...(body === undefined || body.value === "" ? undefined : { body: renamed(body.value, names) }) };
  return new HttpCall(served, sent, caller, () => undefined);
}

const isVerb = (method: string): method is Exchange["verb"] => ["POST", "GET", "DELETE"].includes(method);

const sessionIn = (headers: TranscriptRequest["headers"]): string | undefined => headers["mcp-session-id"]?.[0];

function headersOf(request: TranscriptRequest, names: NameMapping): Readonly<Record<string, string>> {
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
