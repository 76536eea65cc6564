import { setTimeout as wait } from "node:timers/promises";
import { actor, elicit } from "troupe";
import * as z from "zod";

const SOON_MS = 1_000;
/** What asks at once is asked with the call; what asks later, with its task. */
const LOOK_MS = 100;

const Confirmed = z.object({ confirm: z.boolean() });
const Named = z.object({ name: z.string() });

/** Calls that go on after they were answered: of clients that know tasks, each is one. */
export const tasks = actor("tasks", {
  description: "Takes its time, as long as it is asked to.",
  persistence: "memory",
  initial: () => ({}),
  tools: {
    greet: { description: "Greets, at once.", input: z.object({ name: z.string() }), view: ({ args }) => `Hello, ${args.name}!` },
    slow_compute: {
      description: "Takes as many seconds as it is told to.",
      input: z.object({ seconds: z.number().min(0).max(600), label: z.string().default("it") }),
      task: "optional",
      run({ args, message, wake, messages, later }) {
        const said = `Computed ${args.label}.`;
        if (args.seconds === 0) return said;
        wake(message.id, { afterMs: args.seconds * 1_000, message: messages.done({ of: message.id, reply: { ok: said } }) });
        return later();
      },
    },
    failing_job: {
      description: "Fails, in a while.",
      task: "required",
      run({ message, wake, messages, later }) {
        const reply = { refused: { code: "BROKEN", message: "The job has failed." } };
        wake(message.id, { afterMs: SOON_MS, message: messages.done({ of: message.id, reply }) });
        return later();
      },
    },
    protocol_error_job: {
      description: "Finds in a while that it should not have been asked.",
      task: "optional",
      run({ message, wake, messages, later }) {
        const reply = { refused: { code: "INVALID_PARAMS", message: "This cannot be asked for." } };
        wake(message.id, { afterMs: SOON_MS, message: messages.done({ of: message.id, reply }) });
        return later();
      },
    },
    confirm_delete: {
      description: "Asks before it deletes, which it does not.",
      input: z.object({ filename: z.string() }),
      task: "optional",
      async work({ args, ask, signal }) {
        await wait(LOOK_MS, undefined, { signal });
        const { sure } = ask({ sure: elicit(`Delete ${args.filename}?`, Confirmed) });
        return sure.action === "accept" && sure.content.confirm ? `Deleted ${args.filename}.` : `Kept ${args.filename}.`;
      },
    },
    multi_input: {
      description: "Asks two things at once.",
      task: "optional",
      async work({ ask, signal }) {
        await wait(LOOK_MS, undefined, { signal });
        const { first, second } = ask({ first: elicit("The first name?", Named), second: elicit("The second name?", Named) });
        return [first, second].map((one) => (one.action === "accept" ? one.content.name : "nobody")).join(" and ");
      },
    },
    test_tool_with_task: {
      description: "Asks who it is for, and takes its time then.",
      task: "required",
      run({ ask, message, wake, messages, later }) {
        const { user_name: user } = ask({ user_name: elicit("Who is it for?", Named) });
        const ok = user.action === "accept" ? `Done for ${user.content.name}.` : "Done for nobody.";
        wake(message.id, { afterMs: SOON_MS, message: messages.done({ of: message.id, reply: { ok } }) });
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
