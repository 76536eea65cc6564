// Kinds whose actors forward calls to each other, with every outcome of a reply.
import { actor, elicit, refuse, type StateOf } from "troupe";
import type { ActorId } from "../../src/core/contract/index.ts";
import * as z from "zod";

export const shelf = actor("shelf", {
  description: "A shelf of books.",
  per: "link",
  autoStart: true,
  state: z.object({
    free: z.array(z.string()).default(["Dune", "Emma"]),
    calls: z.array(z.string()).default([]),
    open: z.array(z.string()).default([]),
  }),
  messages: {
    take: {
      input: z.object({ title: z.string() }),
      output: z.string(),
      run({ state, args, viewer }) {
        if (!state.free.includes(args.title)) refuse(`${args.title} is lent.`, { code: "LENT", data: { title: args.title } });
        state.free = state.free.filter((title) => title !== args.title);
        state.calls.push(viewer.principal ?? "anonymous");
        return args.title;
      },
    },
    rate: {
      input: z.object({ title: z.string() }),
      run({ state, args, ask }) {
        const { stars } = ask({ stars: elicit(`How many stars has ${args.title}?`, z.object({ stars: z.number() })) });
        if (stars.action !== "accept") return refuse("Then none.");
        state.calls.push(`${args.title} ${stars.content.stars}`);
        return stars.content.stars;
      },
    },
    broken: {
      run() {
        throw new Error("The shelf fell down.");
      },
    },
    hold: {
      run({ state, message, later }) {
        state.open.push(message.id);
        return later();
      },
    },
    tell: {
      run({ state, report }) {
        for (const id of state.open) report(id, 1, 3, "found");
      },
    },
    dig: {
      async work({ progress }) {
        progress(1, 2, "half");
        progress(2, 2, "done");
        return "dug";
      },
    },
    release: {
      run({ state, answer }) {
        for (const id of state.open.splice(0)) answer(id, "released");
      },
    },
  },
});

export const desk = actor("desk", {
  description: "Passes on to a shelf.",
  per: "link",
  autoStart: true,
  state: z.object({ passed: z.number().default(0) }),
  messages: {
    take: {
      input: z.object({ title: z.string() }),
      output: z.string(),
      run({ state, args, forward }) {
        state.passed += 1;
        return forward(shelf.at("main").take(args));
      },
    },
    dig: { run: ({ forward }) => forward(shelf.at("main").dig()) },
    hold: { run: ({ forward }) => forward(shelf.at("main").hold()) },
    rate: { input: z.object({ title: z.string() }), run: ({ args, forward }) => forward(shelf.at("main").rate(args)) },
  },
});

export const gate = actor("gate", {
  description: "Offers tools to clients and to other actors.",
  per: "link",
  autoStart: true,
  allow: { guest: ({ viewer }) => viewer.principal === "ann" },
  state: z.object({ open: z.boolean().default(false) }),
  tools: {
    open: {
      description: "Open the gate.",
      allow: "guest",
      input: z.object({ how: z.string() }),
      output: z.object({ opened: z.string() }),
      enabled: ({ state }) => !state.open || "It is open.",
      run({ state, args }) {
        state.open = true;
        return { opened: args.how };
      },
    },
    look: { description: "Look at the gate.", view: ({ state }) => (state.open ? "It is open." : "It is shut.") },
  },
});

export const reader = actor("reader", {
  description: "A reader.",
  per: "user",
  state: z.object({ tries: z.number().default(0) }),
  tools: {
    borrow: {
      description: "Borrow a book.",
      input: z.object({ title: z.string() }),
      output: z.string(),
      run: ({ forward, args }) => forward(shelf.at("main").take({ title: args.title })),
    },
    through: {
      description: "Borrow a book at the desk.",
      input: z.object({ title: z.string() }),
      run({ state, forward, args }) {
        state.tries += 1;
        return forward(desk.at("main").take(args));
      },
    },
    rate: {
      description: "Rate a book.",
      input: z.object({ title: z.string() }),
      run: ({ forward, args }) => forward(desk.at("main").rate(args)),
    },
    sent: {
      description: "Rate a book, without waiting.",
      run({ send }) {
        send(shelf.at("main").rate({ title: "Emma" }));
        return "sent";
      },
    },
    enter: {
      description: "Open the gate.",
      input: z.object({ how: z.string() }),
      output: z.object({ opened: z.string() }),
      run: ({ forward, args }) => forward(gate.at("main").tools.open({ how: args.how })),
    },
    watch: { description: "Look at the gate.", run: ({ request }) => request(gate.at("main").tools.look(), "looked") },
    broken: { description: "Fails behind.", run: ({ forward }) => forward(shelf.at("main").broken()) },
    missing: { description: "There is no such shelf.", run: ({ forward }) => forward(vault.at("none").open()) },
    dig: { description: "Works behind.", run: ({ forward }) => forward(desk.at("main").dig()) },
    hold: { description: "Is answered in time.", run: ({ forward }) => forward(desk.at("main").hold()) },
    unfit: {
      description: "Promises a number.",
      output: z.object({ n: z.number() }),
      // The schema of the other actor allows more than this one's.
      run: ({ forward }) => forward(loose.at("main").any()),
    },
    twice: {
      description: "Forwards twice.",
      run({ forward }) {
        forward(shelf.at("main").take({ title: "Dune" }));
        return forward(shelf.at("main").take({ title: "Emma" }));
      },
    },
    dropped: {
      description: "Forwards, and replies itself.",
      run({ forward }) {
        forward(shelf.at("main").take({ title: "Dune" }));
        return "mine";
      },
    },
    working: {
      description: "Works first.",
      input: z.object({ title: z.string() }),
      work: async ({ forward, args }) => forward(shelf.at("main").take(args)),
    },
    round: {
      description: "Goes in a circle.",
      run: ({ forward, send, self }) => (send(self, "note"), forward(mirror.at("m").back())),
    },
  },
  messages: { note: { run: () => undefined } },
  replies: { looked: { of: gate.tool("look"), run: ({ reply }) => ["You look.", reply] } },
});

/** Its output is checked by a predicate, so its type is weaker than its schema. */
export const bank = actor("bank", {
  description: "Charges and pays back.",
  per: "link",
  autoStart: true,
  state: z.object({ charged: z.array(z.number()).default([]) }),
  messages: {
    charge: {
      input: z.object({ amount: z.number() }),
      output: z.object({ receipt: z.string() }),
      run({ state, args, ask }) {
        if (args.amount > 100) refuse("That is too much.", { code: "LIMIT" });
        if (args.amount > 50) {
          const { sure } = ask({ sure: elicit(`Pay ${args.amount}?`) });
          if (sure.action !== "accept") refuse("Then not.", { code: "DECLINED" });
        }
        state.charged.push(args.amount);
        return { receipt: `R${state.charged.length}` };
      },
    },
    confirm: {
      run({ ask }) {
        ask({ sure: elicit("Deliver now?") });
      },
    },
    check: { output: z.boolean(), run: ({ state }) => state.charged.length < 3 },
  },
});

export const order = actor("order", {
  description: "Requests, and goes on with the reply.",
  per: "user",
  state: z.object({ log: z.array(z.string()).default([]) }),
  tools: {
    pay: {
      description: "Pay.",
      input: z.object({ amount: z.number(), what: z.string().default("a book") }),
      output: z.object({ paid: z.string() }),
      run: ({ request, args }) => request(bank.at("main").charge({ amount: args.amount }), "charged", { what: args.what }),
    },
    checked: {
      description: "Check, then pay.",
      output: z.object({ paid: z.string() }),
      run: ({ request }) => request(bank.at("main").check(), "checked"),
    },
    silent: {
      description: "Has no branch for a refusal.",
      run: ({ request }) => request(bank.at("main").charge({ amount: 200 }), "plain"),
    },
    deliver: { description: "Pay, then ask.", run: ({ request }) => request(bank.at("main").charge({ amount: 2 }), "thenAsk") },
    crash: { description: "The handler crashes.", run: ({ request }) => request(bank.at("main").charge({ amount: 3 }), "crashes") },
    decline: { description: "The handler refuses.", run: ({ request }) => request(bank.at("main").charge({ amount: 4 }), "declines") },
    misnamed: {
      description: "The handler is another message's.",
      // Both reply with a type that the handler accepts, so only a run-time check can find the mistake.
      run: ({ request }) => request({ ...bank.at("main").charge({ amount: 1 }), action: "check" }, "plain"),
    },
  },
  replies: {
    charged: {
      of: bank.message("charge"),
      input: z.object({ what: z.string() }),
      run({ state, reply, args, viewer }) {
        state.log.push(`${viewer.principal ?? "?"} paid ${args.what}: ${reply.receipt}`);
        return { paid: reply.receipt };
      },
      refused({ state, refused, args }) {
        state.log.push(`${args.what}: ${refused.code}`);
        return { paid: "nothing" };
      },
    },
    checked: {
      of: bank.message("check"),
      run({ reply, request }) {
        if (!reply) refuse("The bank is full.", { code: "FULL" });
        return request(bank.at("main").charge({ amount: 1 }), "charged", { what: "a pen" });
      },
    },
    plain: { of: bank.message("charge"), run: ({ state, reply }) => void state.log.push(reply.receipt) },
    thenAsk: { of: bank.message("charge"), run: ({ forward }) => forward(bank.at("main").confirm()) },
    crashes: {
      of: bank.message("charge"),
      run({ state }) {
        state.log.push("never");
        throw new Error("The handler crashed.");
      },
    },
    declines: {
      of: bank.message("charge"),
      run({ state }) {
        state.log.push("never");
        return refuse("No, after all.", { code: "DECLINED" });
      },
    },
  },
});

export const board = actor("board", {
  description: "Shows notes.",
  per: "link",
  autoStart: true,
  state: z.object({ notes: z.array(z.string()).default([]) }),
  messages: {
    note: { input: z.object({ text: z.string() }), run: ({ state, args }) => void state.notes.push(args.text) },
    refuse: { run: () => refuse("No notes today.") },
    broken: {
      run() {
        throw new Error("The board fell down.");
      },
    },
    hold: { work: ({ message }) => holdOf(message.to).promise },
    later: { run: ({ later }) => later() },
  },
});

const holds = new Map<ActorId, PromiseWithResolvers<void>>();

const holdOf = (id: ActorId): PromiseWithResolvers<void> => {
  const held = holds.get(id) ?? Promise.withResolvers<void>();
  holds.set(id, held);
  return held;
};

/** Lets `hold` of this board continue. */
export const release = (key: string): void => {
  holdOf(board.id(key)).resolve();
  holds.delete(board.id(key));
};

export const writer = actor("writer", {
  description: "Writes on boards.",
  per: "user",
  state: z.object({ written: z.number().default(0) }),
  tools: {
    write: {
      description: "Write on two boards.",
      output: z.object({ written: z.number() }),
      run({ state, send, settled }) {
        state.written += 1;
        for (const text of ["one", "two"]) send(board.at("a").note({ text }));
        send(board.at("b").note({ text: "three" }));
        return settled({ written: state.written });
      },
    },
    nothing: { description: "Sends nothing.", run: ({ settled }) => settled("done") },
    refused: {
      description: "Is refused, and fails.",
      run({ send, settled }) {
        send(board.at("a").refuse());
        send(board.at("b").broken());
        send(vault.at("none").open());
        return settled("sent");
      },
    },
    both: {
      description: "Waits for two boards.",
      run({ send, settled }) {
        send(board.at("a").hold());
        send(board.at("b").hold());
        return settled("released");
      },
    },
    later: {
      description: "Does not wait for a board that replies later.",
      run({ send, settled }) {
        send(board.at("a").later());
        return settled("sent");
      },
    },
    paid: { description: "Pays, then writes.", run: ({ request }) => request(bank.at("main").charge({ amount: 1 }), "charged") },
    unsettled: { description: "Is a mistake.", run: ({ settled, later }) => settled(later()) },
  },
  replies: {
    charged: {
      of: bank.message("charge"),
      run({ reply, send, settled }) {
        send(board.at("a").note({ text: reply.receipt }));
        return settled(reply.receipt);
      },
    },
  },
});

export const loose = actor("loose", {
  description: "Replies something else than its type says.",
  per: "link",
  autoStart: true,
  state: z.object({}),
  messages: { any: { output: z.custom<{ n: number }>(), run: () => ({ n: Object("one") }) } },
});

export const vault = actor("vault", {
  description: "Starts only when it is created.",
  per: "link",
  state: z.object({}),
  messages: { open: { run: () => "open" } },
});

export const mirror = actor("mirror", {
  description: "Forwards to where the call came from.",
  per: "link",
  autoStart: true,
  state: z.object({}),
  messages: {
    back: {
      run({ forward, from }) {
        if (from === undefined) return "here";
        return forward({ to: from, action: "tools/round", args: {} });
      },
    },
  },
});

export const KINDS = [shelf, gate, desk, reader, loose, mirror, vault, bank, order, board, writer];

export type ShelfState = StateOf<typeof shelf>;
