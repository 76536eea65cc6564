import { registry } from "troupe/source";

/** Tools that change the lists while the server runs, and a prompt that asks its client. */
export const changing = registry({
  tools: {
    test_trigger_tool_change: {
      description: "Adds a tool, or takes it away again.",
      work() {
        if (!changing.remove("tools/extra_tool"))
          changing.add({ tools: { extra_tool: { description: "Comes and goes.", work: () => "Here." } } });
        return "The tools changed.";
      },
    },
    test_trigger_prompt_change: {
      description: "Adds a prompt, or takes it away again.",
      work() {
        if (!changing.remove("prompts/extra_prompt"))
          changing.add({ prompts: { extra_prompt: { description: "Comes and goes.", view: () => "Here." } } });
        return "The prompts changed.";
      },
    },
  },
  prompts: {
    test_input_required_result_prompt: {
      description: "Asks what it is about.",
      view({ ask }) {
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
