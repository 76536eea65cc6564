// Handlers by the names that transcripts use.
import type { HandlerContext } from "../../src/mcp/source/index.ts";
import type { JsonObject } from "../../src/core/contract/index.ts";

type Work = (context: HandlerContext<JsonObject>) => unknown;

const message = ({ message: text }: JsonObject): string => (typeof text === "string" ? text : "");

const confirmed = (answer: unknown): boolean => JSON.stringify(answer).includes('"confirmed":true');

export const TOOLS: Readonly<Record<string, Work>> = {
  echo_text: ({ args }) => message(args),
  task_echo: ({ args }) => message(args),
  fail_error() {
    throw new Error("fixture tool failed");
  },
  stream_progress({ args, progress }) {
    progress(1, 2, "half");
    progress(2, 2, "done");
    return message(args);
  },
  input_required({ args, ask }) {
    const { confirmation } = ask({
      confirmation: {
        method: "elicitation/create",
        params: {
          message: `Confirm ${message(args)}`,
          requestedSchema: { type: "object", properties: { confirmed: { type: "boolean" } }, required: ["confirmed"] },
        },
      },
    });
    return confirmed(confirmation) ? `confirmed ${message(args)}` : "not confirmed";
  },
  input_required_extension({ args, ask }) {
    ask({ approval: { method: "com.example/review/approve", params: { message: `Review ${message(args)}` } } });
    return `reviewed ${message(args)}`;
  },
};

export const PROMPTS: Readonly<Record<string, (context: HandlerContext<Readonly<Record<string, string>>>) => unknown>> = {
  render_greeting: ({ args }) => ({
    description: "Rendered greeting",
    messages: [{ role: "user", content: { type: "text", text: `Hello, ${args["name"] ?? ""}.` } }],
  }),
};
