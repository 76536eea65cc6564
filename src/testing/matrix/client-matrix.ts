import type { TestClientOptions } from "../client/call-options.ts";
import type { TestClient } from "../client/client.ts";
import { objectIn } from "../client/message.ts";
import type { Definition } from "../client/results.ts";
import { type MatrixCall, rows } from "./rows.ts";

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
