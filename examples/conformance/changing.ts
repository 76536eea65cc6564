import { registry } from "troupe/source";

/** Lists that change while the server runs, and a prompt that asks. */
export const changing = registry({
  tools: {
    test_trigger_tool_change: {
      describe: "Adds a tool, or takes it away again.",
      run() {
        if (!changing.remove("tools/extra_tool"))
          changing.add({ tools: { extra_tool: { describe: "Comes and goes.", run: () => "Here." } } });
        return "The tools changed.";
      },
    },
    test_trigger_prompt_change: {
      describe: "Adds a prompt, or takes it away again.",
      run() {
        if (!changing.remove("prompts/extra_prompt"))
          changing.add({ prompts: { extra_prompt: { describe: "Comes and goes.", get: () => "Here." } } });
        return "The prompts changed.";
      },
    },
  },
  prompts: {
    test_input_required_result_prompt: {
      describe: "Asks what it is about.",
      get(_args, { ask }) {
        const { user_context: answer } = ask({
          user_context: {
            method: "elicitation/create",
            params: {
              message: "What context should the prompt use?",
              requestedSchema: { type: "object", properties: { context: { type: "string" } }, required: ["context"] },
            },
          },
        });
        return `Use this context: ${JSON.stringify(answer)}`;
      },
    },
  },
});
