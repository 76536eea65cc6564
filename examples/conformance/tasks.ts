import { setTimeout as wait } from "node:timers/promises";
import { actor, elicit } from "troupe";
import * as z from "zod";

const JOB_MS = 1_000;
/** Long enough that the call is a task by then, so the question belongs to the task and not to the call. */
const BEFORE_QUESTION_MS = 100;

const Confirmed = z.object({ confirm: z.boolean() });
const Named = z.object({ name: z.string() });

/** Calls that take a while. For clients that support tasks, each call is a task. */
export const tasks = actor("tasks", {
  description: "Takes a given time.",
  persistence: "memory",
  initial: () => ({}),
  tools: {
    greet: { description: "Greets immediately.", input: z.object({ name: z.string() }), view: ({ args }) => `Hello, ${args.name}!` },
    slow_compute: {
      description: "Takes the given number of seconds.",
      input: z.object({ seconds: z.number().min(0).max(600), label: z.string().default("it") }),
      task: "optional",
      run({ args, message, wake, messages, later }) {
        const result = `Computed ${args.label}.`;
        if (args.seconds === 0) return result;
        wake(message.id, { afterMs: args.seconds * 1_000, message: messages.done({ of: message.id, reply: { ok: result } }) });
        return later();
      },
    },
    failing_job: {
      description: "Fails after a second.",
      task: "required",
      run({ message, wake, messages, later }) {
        const reply = { refused: { code: "BROKEN", message: "The job has failed." } };
        wake(message.id, { afterMs: JOB_MS, message: messages.done({ of: message.id, reply }) });
        return later();
      },
    },
    protocol_error_job: {
      description: "Fails after a second with a protocol error.",
      task: "optional",
      run({ message, wake, messages, later }) {
        const reply = { refused: { code: "INVALID_PARAMS", message: "This cannot be asked for." } };
        wake(message.id, { afterMs: JOB_MS, message: messages.done({ of: message.id, reply }) });
        return later();
      },
    },
    confirm_delete: {
      description: "Asks for confirmation. Deletes nothing.",
      input: z.object({ filename: z.string() }),
      task: "optional",
      async work({ args, ask, signal }) {
        await wait(BEFORE_QUESTION_MS, undefined, { signal });
        const { sure } = ask({ sure: elicit(`Delete ${args.filename}?`, Confirmed) });
        return sure.action === "accept" && sure.content.confirm ? `Deleted ${args.filename}.` : `Kept ${args.filename}.`;
      },
    },
    multi_input: {
      description: "Asks two questions at once.",
      task: "optional",
      async work({ ask, signal }) {
        await wait(BEFORE_QUESTION_MS, undefined, { signal });
        const { first, second } = ask({ first: elicit("The first name?", Named), second: elicit("The second name?", Named) });
        return [first, second].map((one) => (one.action === "accept" ? one.content.name : "nobody")).join(" and ");
      },
    },
    test_tool_with_task: {
      description: "Asks for a name, then takes a second.",
      task: "required",
      run({ ask, message, wake, messages, later }) {
        const { user_name: user } = ask({ user_name: elicit("Who is it for?", Named) });
        const ok = user.action === "accept" ? `Done for ${user.content.name}.` : "Done for nobody.";
        wake(message.id, { afterMs: JOB_MS, message: messages.done({ of: message.id, reply: { ok } }) });
        return later();
      },
    },
  },
  messages: {
    done: {
      input: z.object({
        of: z.string(),
        reply: z.union([z.object({ ok: z.string() }), z.object({ refused: z.object({ code: z.string(), message: z.string() }) })]),
      }),
      run({ args, answer }) {
        answer(args.of, args.reply);
      },
    },
  },
});
