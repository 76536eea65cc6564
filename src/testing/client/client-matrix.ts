import { isDeepStrictEqual } from "node:util";
import type { TestClientOptions } from "./conversation.ts";
import type { TestClient } from "./client.ts";
import { objectIn, type Definition, callToolRequest } from "./messages.ts";
import type { JsonObject } from "../../core/contract/index.ts";
import { RequestError } from "./server-faults.ts";
import { settle } from "../simulated-clock.ts";

/** What went wrong for a sort of client. */
export interface Finding {
  /** `never refreshes`, `a session per call`, `duplicate calls`, `slow reader`, `modern without principal`. */
  readonly client: string;
  readonly finding: string;
}

/** Options of `clientMatrix`. */
export interface MatrixOptions {
  /** What the clients call, some hundred times. Default: each tool that requires no arguments. */
  readonly calls?: readonly MatrixCall[];
}

/**
 * Clients as they are found outside, one sort after the other on one server: what each of them would stumble over, in a sentence.
 * Empty: nothing. It throws nothing of the server's. `makeClient`: `(options) => server.client(options)`.
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
  const found = new Map<string, Finding>();
  for (const [name, row] of Object.entries(rows)) {
    await using clients = new AsyncDisposableStack();
    const client = async (how: TestClientOptions = {}): Promise<TestClient> => clients.use(await makeClient(how));
    const find = (finding: string): void => void found.set(`${name}: ${finding}`, { client: name, finding });
    try {
      const calls = options.calls ?? (await (await client({ listen: false })).listTools()).filter(needsNothing);
      await row({ client, calls, find });
    } catch (error) {
      find(`It came to nothing: ${error instanceof Error ? error.message : String(error)}`);
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

/** What a row plays with. */
interface Field {
  readonly client: (options?: TestClientOptions) => Promise<TestClient>;
  readonly calls: readonly MatrixCall[];
  readonly find: (sentence: string) => void;
}

export type Row = (field: Field) => Promise<void>;

const BURST = 100;
const HELD = 16;

/** The result; a JSON-RPC error is found, and undefined. */
async function calling(
  client: TestClient,
  { name, args }: MatrixCall,
  { find }: Field,
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

const neverRefreshes: Row = async (field) => {
  const client = await field.client({ listen: false });
  await client.listTools();
  for (const call of [...field.calls, ...field.calls]) await calling(client, call, field, "a client that listed its tools once, long ago,");
};

const sessionPerCall: Row = async (field) => {
  const names = async (): Promise<readonly string[]> => (await (await field.client({ listen: false })).listTools()).map(({ name }) => name);
  const [one, two] = [await names(), await names()];
  if (!isDeepStrictEqual(one, two))
    field.find(`Two sessions of one principal list different tools, with nothing done between: ${one.join(", ")}; then ${two.join(", ")}.`);
  for (const call of field.calls) await calling(await field.client({ listen: false }), call, field, "in a session of its own");
};

const duplicates: Row = async (field) => {
  const client = await field.client({ listen: false });
  for (const [at, call] of field.calls.entries()) {
    const send = (): Promise<JsonObject | undefined> => calling(client, call, field, "under a key", `matrix-${at}`);
    const replies = [...(await Promise.all([send(), send()])), await send()];
    if (!replies.every((reply) => isDeepStrictEqual(reply, replies[0])))
      field.find(`${call.name}, sent three times under one Idempotency-Key, was answered differently: it ran more than once.`);
  }
};

const slowReader: Row = async (field) => {
  const slow = await field.client();
  await slow.initialize();
  slow.pauseReading();
  const streams = field.calls.map(({ name, args }, at) =>
    slow.stream(callToolRequest(`slow-${at}`, name, args, { progressToken: `slow-${at}` })),
  );
  const other = await field.client({ listen: false });
  for (let round = 0; round < BURST; round += 1)
    for (const { name, args } of field.calls)
      await other.callTool(name, args).catch((error: unknown) => {
        // Any other would take its time a hundred times, such as that of a call that waits for simulated time.
        if (!(error instanceof RequestError)) throw error;
      });
  await settle();
  const told = Math.max(slow.notifications.all.length, ...streams.map(({ frames }) => frames.length));
  if (told > HELD)
    field.find(
      `${told} messages were sent to a client that does not read: remember that something changed, not each change, until its channel is ready.`,
    );
  slow.resumeReading();
};

const modernWithoutPrincipal: Row = async (field) => {
  const anybody: TestClientOptions = { era: "modern", principal: null, listen: false };
  const client = await field.client(anybody);
  const before = await client.listTools();
  for (const call of field.calls) await calling(client, call, field, "a modern client without a principal");
  if (!isDeepStrictEqual(before, await (await field.client(anybody)).listTools()))
    field.find(
      "The list that modern clients without a principal see changed with a call of one of them: it may vary by authorization only.",
    );
};

/** By what each client does. */
export const rows: Readonly<Record<string, Row>> = {
  "never refreshes": neverRefreshes,
  "a session per call": sessionPerCall,
  "duplicate calls": duplicates,
  "slow reader": slowReader,
  "modern without principal": modernWithoutPrincipal,
};
