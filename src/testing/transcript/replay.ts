import type { Caller, Exchange } from "../../contract/index.ts";
import { type Exchanging, HttpCall } from "../client/http-call.ts";
import { settle } from "../simulated-clock.ts";
import { type Difference, differences } from "./differences.ts";
import { answered } from "./record.ts";
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
 * Says it all again, and tells what came back differently: nothing, if the list is empty. Session and event ids may be others
 * than recorded, if they are so throughout. Throws where a step goes anywhere but to `/mcp`, or by another verb than POST, GET, DELETE.
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
    if (step !== undefined && expected !== undefined)
      found.push(...differences(step.name, expected, await answered(call), { names, ignore }));
  };
  for (const [at, step] of steps.entries()) {
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
  if (request.path !== "/mcp") throw new Error(`${name} goes to ${request.path}: replay what goes to /mcp.`);
  const headers = headersOf(request, names);
  const sent = { verb: method, headers, ...(body.value === "" ? undefined : { body: body.value }) };
  return new HttpCall(served, sent, caller, () => undefined);
}

const isVerb = (method: string): method is Exchange["verb"] => ["POST", "GET", "DELETE"].includes(method);

const CHOSEN = new Set(["mcp-session-id", "last-event-id"]);

// A header sent twice is one that is not there, as a transport hands it on.
function headersOf({ headers }: TranscriptRequest, names: SameNames): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([given, values]) => {
      const name = given.toLowerCase();
      const [value] = values;
      return value === undefined || values.length > 1 ? [] : [[name, CHOSEN.has(name) ? names.of(value) : value]];
    }),
  );
}
