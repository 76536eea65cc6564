import type { Caller, Exchange } from "../../contract/index.ts";
import { type Exchanging, HttpCall } from "../client/http-call.ts";
import { settle } from "../simulated-clock.ts";
import { type Difference, differences } from "./differences.ts";
import { answered } from "./record.ts";
import { renamed } from "./same-message.ts";
import { SameNames } from "./same-names.ts";
import type { Transcript, TranscriptRequest, TranscriptStep } from "./transcript.ts";

export interface ReplayOptions {
  /** Who calls. Default: `tester`, without scopes. */
  readonly caller?: Caller;
  /** Headers of answers that are not compared. Default: `x-request-id`, `connection`, `cache-control`, which are a transport's. */
  readonly ignore?: readonly string[];
}

// Long enough for all that needs no time; a step that is still open then waits for what later steps say.
const ROUNDS = 50;
const TRANSPORTS_OWN = ["x-request-id", "connection", "cache-control"];

/**
 * Says it all again, and tells what came back differently: nothing, if the list is empty. Ids of sessions, events and questions
 * and request states may be others than recorded, if they are so throughout. Steps to another path than `/mcp` are whoever's the
 * server is mounted in, and are left out. Throws where a step has another verb than POST, GET, DELETE.
 */
export async function replayTranscript(
  served: Exchanging,
  transcript: Transcript,
  { caller = { principal: "tester", scopes: [] }, ignore = TRANSPORTS_OWN }: ReplayOptions = {},
): Promise<readonly Difference[]> {
  const names = new SameNames();
  const found: Difference[] = [];
  const open: { readonly call: HttpCall; readonly at: number }[] = [];
  const { steps } = transcript.input.mcp;
  const compare = async (call: HttpCall, at: number): Promise<void> => {
    const [step, expected] = [steps[at], transcript.expect.mcp.steps[at]];
    if (step === undefined || expected === undefined) return;
    const session = sessionIn(step.request.headers) ?? sessionIn(expected.headers) ?? "";
    found.push(...differences(step.name, expected, await answered(call), { names, session, ignore }));
  };
  for (const [at, step] of steps.entries()) {
    if (step.request.path !== "/mcp") continue;
    const call = send(served, step, caller, names);
    const over = await Promise.race([call.done.then(() => true), settle(ROUNDS).then(() => false)]);
    if (over) await compare(call, at);
    else open.push({ call, at });
  }
  for (const { call, at } of open) {
    call.leave();
    const came = await Promise.race([call.answer.then(() => true), settle(ROUNDS).then(() => false)]);
    if (came) await compare(call, at);
    else found.push({ step: steps[at]?.name ?? "", where: "answer", expected: "one", actual: "none, with nothing left to wait for" });
  }
  return found;
}

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
