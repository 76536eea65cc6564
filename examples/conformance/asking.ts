import { actor, type JsonObject, elicit, roots, sample } from "troupe";
import * as z from "zod";

const name = z.object({ name: z.string() });
const ok = z.object({ ok: z.boolean() });
const object = (properties: JsonObject): JsonObject => ({ type: "object", properties });
const think = (question: string, maxTokens = 100) =>
  sample({ messages: [{ role: "user", content: { type: "text", text: question } }], maxTokens });

const defaults = object({
  name: { type: "string", description: "User name", default: "John Doe" },
  age: { type: "integer", description: "User age", default: 30 },
  score: { type: "number", description: "User score", default: 95.5 },
  status: { type: "string", description: "User status", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", description: "Verification status", default: true },
});

const enums = object({
  untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
  titledSingle: {
    type: "string",
    oneOf: [
      { const: "value1", title: "First Option" },
      { const: "value2", title: "Second Option" },
      { const: "value3", title: "Third Option" },
    ],
  },
  legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
  untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
  titledMulti: {
    type: "array",
    items: {
      anyOf: [
        { const: "value1", title: "First Choice" },
        { const: "value2", title: "Second Choice" },
        { const: "value3", title: "Third Choice" },
      ],
    },
  },
});

/** Every request to the client during a call. Older revisions send a request; since 2026-07-28 the result asks the client to call again. */
export const asking = actor("asking", {
  description: "Asks its client.",
  persistence: "memory",
  initial: () => ({}),
  tools: {
    test_sampling: {
      description: "Asks the client's model.",
      input: z.object({ prompt: z.string().describe("The prompt to send to the LLM") }),
      run: ({ args, ask }) => `LLM response: ${JSON.stringify(ask({ answer: think(args.prompt) }).answer)}`,
    },
    test_elicitation: {
      description: "Asks the person.",
      input: z.object({ message: z.string().describe("The message to show the user") }),
      run({ args, ask }) {
        const form = z.object({ username: z.string().describe("User's response"), email: z.string().describe("User's email address") });
        return `User response: ${JSON.stringify(ask({ user: elicit(args.message, form) }).user)}`;
      },
    },
    test_elicitation_sep1034_defaults: {
      description: "Asks with defaults.",
      run: ({ ask }) => completed(ask({ form: elicit("Please review and update the form fields with defaults", defaults) }).form),
    },
    test_elicitation_sep1330_enums: {
      description: "Asks with every kind of choice.",
      run: ({ ask }) => completed(ask({ form: elicit("Please select options from the enum fields", enums) }).form),
    },
    test_missing_capability: {
      description: "Requires sampling.",
      run: ({ ask }) => JSON.stringify(ask({ thought: think("Think.") })),
    },
    test_streaming_elicitation: {
      description: "Asks within a result.",
      run: ({ ask }) => JSON.stringify(ask({ user_name: elicit("What is your name?", name) })),
    },
    test_input_required_result_elicitation: {
      description: "Asks for a name.",
      run({ ask }) {
        const { user_name: answer } = ask({ user_name: elicit("What is your name?", name) });
        return `Hello, ${answer.action === "accept" ? answer.content.name : "stranger"}!`;
      },
    },
    test_input_required_result_sampling: {
      description: "Asks the model.",
      run: ({ ask }) => JSON.stringify(ask({ capital_question: think("What is the capital of France?") }).capital_question),
    },
    test_input_required_result_list_roots: {
      description: "Asks for folders.",
      run: ({ ask }) => JSON.stringify(ask({ client_roots: roots() }).client_roots),
    },
    test_input_required_result_request_state: {
      description: "Resumes from a state.",
      run: ({ ask }) => `state-ok ${JSON.stringify(ask({ confirm: elicit("Please confirm", ok) }).confirm)}`,
    },
    test_input_required_result_tampered_state: {
      description: "Resumes from a state that must not be modified.",
      run: ({ ask }) => JSON.stringify(ask({ confirm: elicit("Please confirm", ok) }).confirm),
    },
    test_input_required_result_multiple_inputs: {
      description: "Asks three questions at once.",
      run: ({ ask }) =>
        JSON.stringify(
          ask({ user_name: elicit("What is your name?", name), greeting: think("Generate a greeting", 50), client_roots: roots() }),
        ),
    },
    test_input_required_result_multi_round: {
      description: "Asks two questions, one after the other.",
      run({ ask }) {
        const { step1 } = ask({ step1: elicit("Step 1: What is your name?", name) });
        const { step2 } = ask({ step2: elicit("Step 2: What is your favorite color?", z.object({ color: z.string() })) });
        return JSON.stringify({ step1, step2 });
      },
    },
    test_input_required_result_capabilities: {
      description: "Sends only requests that the client supports.",
      run({ ask, can }) {
        const questions = {
          ...(can("sampling") ? { thought: think("Think.") } : {}),
          ...(can("elicitation") ? { user_name: elicit("What is your name?", name) } : {}),
        };
        return JSON.stringify(ask(questions));
      },
    },
  },
});

function completed(answer: { readonly action: string; readonly content?: unknown }): string {
  return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`;
}
