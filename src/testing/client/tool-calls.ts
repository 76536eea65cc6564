// Owns: a client's tools as functions, typed from the kinds that are served. Does not own: the call (client.ts).
import type { PerOf, ToolsOf } from "../../core/actor/index.ts";
import type { Behaviour, Json, JsonObject } from "../../core/contract/index.ts";
import { closestMatch } from "../../core/contract/internal.ts";
import type { TestClient } from "./client.ts";
import type { CallMore } from "./conversation.ts";
import type { ToolResultParts } from "./messages.ts";
import { RequestError } from "./server-faults.ts";

/** `args` may be left out if the tool requires none. `structuredContent` is missing if the call failed. */
type ToolCall<A, R> =
  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- do no arguments at all fit?
  Pick<A, never> extends A ? (args?: A, more?: CallMore) => Promise<ResultOf<R>> : (args: A, more?: CallMore) => Promise<ResultOf<R>>;

type ResultOf<R> = ToolResultParts & { readonly structuredContent?: Structured<R> };

/** `R` itself, where it is JSON. `Json & R` would be a union with `string & R` and others, which cannot be spread. */
type Structured<R> = unknown extends R ? Json : R extends Json ? R : R & JsonObject;

/** A kind reached only through links has no tools at the top level. A kind addressed by handle takes its handle with each call. */
type CallsOf<K, P = PerOf<K>, T = ToolsOf<K>> = [P] extends ["link"]
  ? unknown
  : {
      readonly [N in Exclude<keyof T, "then">]: T[N] extends { args: infer A; result: infer R }
        ? ToolCall<P extends "handle" ? WithHandle<A> : A, R>
        : never;
    };

type WithHandle<A> = { readonly handle: string } & (A extends Readonly<Record<string, never>> ? unknown : A);

/** The tools of these kinds, by name: `client.tools.open({ door: "front" })`. */
export type ToolCalls<K extends readonly unknown[]> = K extends readonly [infer First, ...infer Rest]
  ? CallsOf<First> & ToolCalls<Rest>
  : unknown;

export type Kinds = readonly Behaviour[];

/** The tools of the client. Its type comes from the kinds, not from the client. */
export function toolsOf<Tools>(client: TestClient<Tools>): Tools;
export function toolsOf(client: Pick<TestClient, "callTool" | "listTools">): object {
  const call = async (name: string, args?: JsonObject, more?: CallMore): Promise<unknown> => {
    try {
      return await client.callTool(name, args, more);
    } catch (error) {
      if (error instanceof RequestError) await explain(client, name, error);
      throw error;
    }
  };
  return new Proxy(
    {},
    {
      get: (_target, name) =>
        // If it were a function, `await client.tools` would call it.
        typeof name === "symbol" || name === "then" ? undefined : (args?: JsonObject, more?: CallMore) => call(name, args, more),
    },
  );
}

/** Adds to the error which tools there are, if the one that was called is not among them. */
async function explain(client: Pick<TestClient, "listTools">, name: string, error: RequestError): Promise<void> {
  const tools = await client.listTools().catch(() => undefined);
  const names = tools?.map((tool) => tool.name);
  if (names === undefined || names.includes(name)) return;
  const meant = closestMatch(name, names);
  const hint = meant === undefined ? `It sees ${names.slice(0, 20).join(", ") || "none"}.` : `Did you mean ${meant}?`;
  error.message += `\nThe client sees no tool ${JSON.stringify(name)} now. ${hint}`;
}
