import type { JsonObject } from "../../core/contract/index.ts";
import { registry, type Registry } from "../../mcp/source/index.ts";

/** A source with one of everything a client can meet. */
export function house(gate: Promise<void> = Promise.resolve()): { readonly source: Registry; readonly shut: () => void } {
  const state = { open: true, calls: 0 };
  const source = registry({
    instructions: "A house.",
    tools: {
      greet: {
        describe: "Says hello.",
        input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
        run: ({ name }) => `Hello, ${JSON.stringify(name).slice(1, -1)}.`,
      },
      count: { describe: "Counts its calls.", run: () => String((state.calls += 1)) },
      leave: { describe: "Goes out.", when: () => state.open, run: () => "Out." },
      break: {
        describe: "Breaks.",
        run() {
          throw new Error("a secret");
        },
      },
      slow: {
        describe: "Tells how far it is, and waits to be let go.",
        async run(_args, { progress }) {
          progress(1, 2, "half");
          await gate;
          progress(2, 2, "done");
          return "Done.";
        },
      },
      sure: {
        describe: "Asks first.",
        run(_args, { ask }) {
          const requestedSchema: JsonObject = { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] };
          const { sure } = ask({ sure: { method: "elicitation/create", params: { message: "Sure?", requestedSchema } } });
          return JSON.stringify(sure);
        },
      },
      whereabouts: {
        describe: "Repeats its argument.",
        input: { type: "object", properties: { town: { type: "string", "x-mcp-header": "Town" } } },
        run: ({ town }) => town ?? "nowhere",
      },
    },
    resources: {
      door: { uri: "house://door", read: () => (state.open ? "open" : "shut") },
      room: {
        uri: "house://room/{name}",
        read: ({ name }) => `room ${name}`,
        complete: { name: (typed) => ["hall", "attic"].filter((one) => one.startsWith(typed)) },
      },
    },
    prompts: { knock: { arguments: [{ name: "times", required: true }], get: ({ times }) => `Knock ${times} times.` } },
  });
  const shut = (): void => {
    state.open = false;
    source.relist();
    source.changed("door");
  };
  return { source, shut };
}
