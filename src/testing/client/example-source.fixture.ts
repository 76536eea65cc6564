import type { JsonObject } from "../../core/contract/index.ts";
import { registry, type Registry } from "../../mcp/source/index.ts";

/** A source with one of everything a client can meet. */
export function exampleSource(gate: Promise<void> = Promise.resolve()): { readonly source: Registry; readonly shut: () => void } {
  const state = { open: true, calls: 0 };
  const source = registry({
    instructions: "An example of everything.",
    tools: {
      greet: {
        description: "Says hello.",
        input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
        work: ({ args: { name } }) => `Hello, ${JSON.stringify(name).slice(1, -1)}.`,
      },
      count: { description: "Counts its calls.", work: () => String((state.calls += 1)) },
      leave: { description: "Goes out.", enabled: () => state.open, work: () => "Out." },
      break: {
        description: "Breaks.",
        work() {
          throw new Error("a secret");
        },
      },
      slow: {
        description: "Tells how far it is, and waits to be let go.",
        async work({ progress }) {
          progress(1, 2, "half");
          await gate;
          progress(2, 2, "done");
          return "Done.";
        },
      },
      sure: {
        description: "Asks first.",
        work({ ask }) {
          const requestedSchema: JsonObject = { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] };
          const { sure } = ask({ sure: { method: "elicitation/create", params: { message: "Sure?", requestedSchema } } });
          return JSON.stringify(sure);
        },
      },
      whereabouts: {
        description: "Repeats its argument.",
        input: { type: "object", properties: { town: { type: "string", "x-mcp-header": "Town" } } },
        work: ({ args: { town } }) => town ?? "nowhere",
      },
    },
    resources: {
      door: { uri: "home://door", view: () => (state.open ? "open" : "shut") },
      room: {
        uri: "home://room/{name}",
        view: ({ args: { name } }) => `room ${name}`,
        complete: { name: ({ value: typed }) => ["hall", "attic"].filter((one) => one.startsWith(typed)) },
      },
    },
    prompts: { knock: { arguments: [{ name: "times", required: true }], view: ({ args: { times } }) => `Knock ${times} times.` } },
  });
  const shut = (): void => {
    state.open = false;
    source.relist();
    source.changed("door");
  };
  return { source, shut };
}
