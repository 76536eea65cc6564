import * as z from "zod";
import { refuse } from "../../src/core/actor/index.ts";
import type { CallOptions, Json, OfferRef, Reply, Source, Viewer } from "../../src/core/contract/index.ts";
import { listed, registry, tool } from "../../src/mcp/source/index.ts";

export const viewer: Viewer = { principal: "ana", scopes: [] };

/** A registry with one offer of each kind; `dim` disables one. */
export function example() {
  let light = true;
  const source = registry({
    name: "example",
    instructions: "Be kind.",
    tools: {
      add: tool({
        description: "Adds.",
        input: z.object({ a: z.number(), b: z.number().default(1) }),
        work: ({ args: { a, b } }) => a + b,
      }),
      echo: {
        description: "As it came.",
        input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        work: ({ args: { text } }) => text,
      },
      fail: { description: "Refuses.", work: () => refuse("Not today.", { code: "LATER", data: { when: "tomorrow" } }) },
      crash: {
        description: "Breaks.",
        work() {
          throw new Error("secret path");
        },
      },
      read: { description: "Needs light.", enabled: () => light || "It is dark.", work: () => "text" },
      shy: { description: "Hidden from others.", enabled: ({ viewer: { principal } }) => principal === "ana", work: () => "hello" },
      sure: {
        description: "Asks.",
        work: ({ ask }) => ask({ sure: { method: "elicitation/create", params: { message: "Sure?" } } }),
      },
      slow: {
        description: "Waits.",
        work: ({ signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      },
      tell: {
        description: "Says how far it is.",
        work({ progress, log, can, key }) {
          progress(1, 2, "half");
          log("info", "here");
          return { roots: can("roots"), key: key ?? null };
        },
      },
    },
    resources: {
      text: { uri: "test://text", mimeType: "text/plain", view: () => "static" },
      user: {
        uri: "test://users/{id}",
        view: ({ args: { id } }) => ({ id }),
        complete: { id: ({ value }) => ["1", "12", "2"].filter((id) => id.startsWith(value)) },
      },
    },
    prompts: {
      greet: {
        description: "Greets.",
        arguments: [{ name: "name", required: true }],
        view: ({ args: { name } }) => `Hello ${name}.`,
        complete: { name: async () => ["Ana"] },
      },
    },
  });
  return {
    source,
    dim: () => {
      light = false;
      source.relist();
    },
  };
}

export const act = (source: Source, ref: OfferRef, args: Json = {}, options: CallOptions = {}): Promise<Reply> =>
  source.act(viewer, ref, args, options);

/** The tools that are listed. */
export const names = async (source: Source, who = viewer): Promise<readonly string[]> =>
  listed(await source.surface(who), "dynamic").tools.map(({ name }) => name);
