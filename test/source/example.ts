import * as z from "zod";
import { refuse } from "../../src/core/actor/index.ts";
import type { CallOptions, Json, OfferRef, Reply, Source, Viewer } from "../../src/core/contract/index.ts";
import { listed, registry, tool } from "../../src/mcp/source/index.ts";

export const viewer: Viewer = { principal: "ana", scopes: [] };

/** A registry with an offer of each sort; `dim` turns one off. */
export function example() {
  let light = true;
  const source = registry({
    name: "example",
    instructions: "Be kind.",
    tools: {
      add: tool({ describe: "Adds.", input: z.object({ a: z.number(), b: z.number().default(1) }), run: ({ a, b }) => a + b }),
      echo: {
        describe: "As it came.",
        input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        run: ({ text }) => text,
      },
      fail: { describe: "Refuses.", run: () => refuse("Not today.", { code: "LATER", data: { when: "tomorrow" } }) },
      crash: {
        describe: "Breaks.",
        run() {
          throw new Error("secret path");
        },
      },
      read: { describe: "Needs light.", when: () => light || "It is dark.", run: () => "text" },
      shy: { describe: "Hidden from others.", when: ({ principal }) => principal === "ana", run: () => "hello" },
      sure: {
        describe: "Asks.",
        run: (_args, { ask }) => ask({ sure: { method: "elicitation/create", params: { message: "Sure?" } } }),
      },
      slow: {
        describe: "Waits.",
        run: (_args, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      },
      tell: {
        describe: "Says how far it is.",
        run(_args, { progress, log, can, key }) {
          progress(1, 2, "half");
          log("info", "here");
          return { roots: can("roots"), key: key ?? null };
        },
      },
    },
    resources: {
      text: { uri: "test://text", mimeType: "text/plain", read: () => "static" },
      user: {
        uri: "test://users/{id}",
        read: ({ id }) => ({ id }),
        complete: { id: (value) => ["1", "12", "2"].filter((id) => id.startsWith(value)) },
      },
    },
    prompts: {
      greet: {
        describe: "Greets.",
        arguments: [{ name: "name", required: true }],
        get: ({ name }) => `Hello ${name}.`,
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
