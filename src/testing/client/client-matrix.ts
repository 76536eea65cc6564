// Owns: checks of a server by clients with the habits of real ones. Does not own: the clients (client.ts).
import { isDeepStrictEqual } from "node:util";
import { checkOptions, type OptionTable, type JsonObject } from "../../core/contract/index.ts";
import { settle } from "../simulated-clock.ts";
import type { TestClient } from "./client.ts";
import type { TestClientOptions } from "./conversation.ts";
import { callToolRequest, type Definition, objectIn } from "./messages.ts";
import { RequestError } from "./server-faults.ts";
import { counted, messageOf } from "../../core/contract/internal.ts";

/** A problem for one type of client. */
export interface Finding {
  /** `never refreshes`, `a session per call`, `duplicate calls`, `slow reader`, `modern without principal`. */
  readonly client: string;
  readonly finding: string;
}

/** Options of `clientMatrix`. */
export interface MatrixOptions {
  /** The calls that the clients make, some hundred times. Default: each tool that requires no arguments. */
  readonly calls?: readonly MatrixCall[];
}

const OPTIONS: OptionTable<MatrixOptions> = { calls: true };

/**
 * Runs clients with the habits of real ones against a server, one type after the other, and returns the problems each has, as
 * sentences. Empty if there are none. Errors of the server are findings, not exceptions. `makeClient`:
 * `(options) => server.client(options)`.
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import { clientMatrix, testServer } from "troupe/testing";
 * import * as z from "zod";
 *
 * const door = actor("door", {
 *   description: "A door.",
 *   state: z.object({ open: z.boolean().default(false) }),
 *   tools: {
 *     open: {
 *       description: "Open it.",
 *       enabled: ({ state }) => !state.open || "It is already open.",
 *       run({ state }) {
 *         state.open = true;
 *         return "It creaks open.";
 *       },
 *     },
 *   },
 * });
 * await using server = await testServer([door]);
 * console.log(await clientMatrix((options) => server.client(options))); // [] if no client stumbles
 * ```
 */
export async function clientMatrix(
  makeClient: (options: TestClientOptions) => TestClient | Promise<TestClient>,
  options: MatrixOptions = {},
): Promise<readonly Finding[]> {
  checkOptions("clientMatrix", options, OPTIONS);
  const found = new Map<string, Finding>();
  for (const [name, check] of Object.entries(checks)) {
    await using clients = new AsyncDisposableStack();
    const client = async (how: TestClientOptions = {}): Promise<TestClient> => clients.use(await makeClient(how));
    const find = (finding: string): void => void found.set(`${name}: ${finding}`, { client: name, finding });
    try {
      const calls = options.calls ?? (await (await client({ listen: false })).listTools()).filter(needsNothing);
      await check({ client, calls, find });
    } catch (error) {
      find(`It came to nothing: ${messageOf(error)}`);
    }
  }
  return [...found.values()];
}

function needsNothing(tool: Definition): boolean {
  const { required } = objectIn(tool, "inputSchema");
  return !Array.isArray(required) || required.length === 0;
}

/** A tool and the arguments that `clientMatrix` calls it with. */
export interface MatrixCall {
  readonly name: string;
  readonly args?: JsonObject;
}

/** What the check of one type of client uses. */
interface CheckContext {
  readonly client: (options?: TestClientOptions) => Promise<TestClient>;
  readonly calls: readonly MatrixCall[];
  readonly find: (sentence: string) => void;
}

type ClientCheck = (context: CheckContext) => Promise<void>;

const BURST = 100;
const MAX_SENT = 16;

/** The result of a call. Undefined after a JSON-RPC error, which is a finding. */
async function callOrFind(
  client: TestClient,
  { name, args }: MatrixCall,
  { find }: CheckContext,
  whose: string,
  key?: string,
): Promise<JsonObject | undefined> {
  try {
    return await client.callTool(name, args, key === undefined ? {} : { key });
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    find(
      `${name} answers ${whose} with an error no model reads (${error.message}): give a result with isError that says what to do instead.`,
    );
    return undefined;
  }
}

const neverRefreshes: ClientCheck = async (context) => {
  const client = await context.client({ listen: false });
  await client.listTools();
  for (const call of [...context.calls, ...context.calls])
    await callOrFind(client, call, context, "a client that listed its tools once, long ago,");
};

const sessionPerCall: ClientCheck = async (context) => {
  const names = async (): Promise<readonly string[]> =>
    (await (await context.client({ listen: false })).listTools()).map(({ name }) => name);
  const [one, two] = [await names(), await names()];
  if (!isDeepStrictEqual(one, two))
    context.find(
      `Two sessions of one principal list different tools, with nothing done between: ${one.join(", ")}; then ${two.join(", ")}.`,
    );
  for (const call of context.calls) await callOrFind(await context.client({ listen: false }), call, context, "in a session of its own");
};

const duplicates: ClientCheck = async (context) => {
  const client = await context.client({ listen: false });
  for (const [at, call] of context.calls.entries()) {
    const send = (): Promise<JsonObject | undefined> => callOrFind(client, call, context, "under a key", `matrix-${at}`);
    const replies = [...(await Promise.all([send(), send()])), await send()];
    if (!replies.every((reply) => isDeepStrictEqual(reply, replies[0])))
      context.find(`${call.name}, sent three times under one Idempotency-Key, was answered differently: it ran more than once.`);
  }
};

const slowReader: ClientCheck = async (context) => {
  const slow = await context.client();
  await slow.initialize();
  slow.pauseReading();
  const streams = context.calls.map(({ name, args }, at) =>
    slow.stream(callToolRequest(`slow-${at}`, name, args, { progressToken: `slow-${at}` })),
  );
  const other = await context.client({ listen: false });
  for (let round = 0; round < BURST; round += 1)
    for (const { name, args } of context.calls)
      await other.callTool(name, args).catch((error: unknown) => {
        // Other errors, say of a call that waits for simulated time, would take long a hundred times over.
        if (!(error instanceof RequestError)) throw error;
      });
  await settle();
  const sent = Math.max(slow.notifications.all.length, ...streams.map(({ frames }) => frames.length));
  if (sent > MAX_SENT)
    context.find(
      `${counted(sent, "message was", "messages were")} sent to a client that does not read: remember that something changed, not each change, until its channel is ready.`,
    );
  slow.resumeReading();
};

const modernWithoutPrincipal: ClientCheck = async (context) => {
  const anybody: TestClientOptions = { era: "modern", principal: null, listen: false };
  const client = await context.client(anybody);
  const before = await client.listTools();
  for (const call of context.calls) await callOrFind(client, call, context, "a modern client without a principal");
  if (!isDeepStrictEqual(before, await (await context.client(anybody)).listTools()))
    context.find(
      "The list that modern clients without a principal see changed with a call of one of them: it may vary by authorization only.",
    );
};

/** The checks, by the habit of the client. */
const checks: Readonly<Record<string, ClientCheck>> = {
  "never refreshes": neverRefreshes,
  "a session per call": sessionPerCall,
  "duplicate calls": duplicates,
  "slow reader": slowReader,
  "modern without principal": modernWithoutPrincipal,
};
