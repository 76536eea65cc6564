// An actor whose offers use every feature of the playground.
import { actor, content, elicit, refuse } from "troupe";
import * as z from "zod";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAF0lEQVR4nGNkYPjPQApgIkn1qIZRDcNHAwBdrQEfQdlXNwAAAABJRU5ErkJggg==";

export const workshop = actor("workshop", {
  description: "A workshop with a shelf of boxes.",
  per: "shared",
  workMs: 120_000,
  state: z.object({ boxes: z.record(z.string(), z.int()).default({ nails: 12, screws: 30 }), open: z.boolean().default(true) }),
  tools: {
    put: {
      title: "Put things on the shelf",
      description: "Adds pieces to a box, and makes the box where there is none.",
      input: z.object({ box: z.string().min(1).describe("The label of the box"), pieces: z.int().min(1).max(100).default(1) }),
      output: z.object({ box: z.string(), pieces: z.int() }),
      enabled: ({ state }) => state.open || "The workshop is closed.",
      run({ state, args }) {
        state.boxes[args.box] = (state.boxes[args.box] ?? 0) + args.pieces;
        return { box: args.box, pieces: state.boxes[args.box] ?? 0 };
      },
    },
    take: {
      description: "Takes pieces out of a box.",
      input: z.object({ box: z.string(), pieces: z.int().min(1) }),
      choices: { box: ({ state }) => Object.keys(state.boxes) },
      run({ state, args }) {
        const there = state.boxes[args.box] ?? 0;
        if (there < args.pieces) refuse(`There are only ${there}.`, { code: "TOO_FEW" });
        state.boxes[args.box] = there - args.pieces;
        return `${args.pieces} taken.`;
      },
    },
    close: {
      description: "Closes or opens the workshop.",
      annotations: { destructiveHint: true },
      run({ state }) {
        state.open = !state.open;
        return state.open ? "Open." : "Closed.";
      },
    },
    label: {
      description: "Asks what to write on a new box.",
      run({ state, ask }) {
        const form = z.object({ text: z.string().min(1), size: z.enum(["small", "large"]), fragile: z.boolean().optional() });
        const { label } = ask({ label: elicit("What is in the box?", form) });
        if (label.action !== "accept") refuse("The box stays without a label.");
        state.boxes[label.content.text] = 0;
        return `A ${label.content.size} box for ${label.content.text}.`;
      },
    },
    build: {
      description: "Builds something in steps, and reports each of them.",
      input: z.object({ steps: z.int().min(1).max(20).default(3), ms: z.int().min(0).max(60_000).default(100) }),
      task: "optional",
      async work({ args, signal, progress, log }) {
        for (let step = 1; step <= args.steps; step += 1) {
          await new Promise<void>((resolve, reject) => {
            const timer = setTimeout(resolve, args.ms);
            signal.addEventListener("abort", () => (clearTimeout(timer), reject(new Error("stopped"))), { once: true });
          });
          progress(step, args.steps, `Step ${step} of ${args.steps}`);
          log("info", { step });
        }
        return `Built in ${args.steps} steps.`;
      },
    },
    picture: {
      description: "Shows the workshop: text, an image and a link.",
      view: () =>
        content([
          { type: "text", text: "The workshop <b>today</b>." },
          { type: "image", data: PIXEL, mimeType: "image/png" },
          { type: "resource_link", uri: "workshop://boxes", name: "boxes", description: "All boxes" },
        ]),
    },
  },
  resources: {
    boxes: { uri: "workshop://boxes", mimeType: "application/json", view: ({ state }) => state.boxes },
    box: {
      uri: "workshop://box/{name}",
      mimeType: "text/plain",
      choices: { name: ({ state }) => Object.keys(state.boxes) },
      view: ({ state, args }) => `${state.boxes[args.name] ?? 0} pieces`,
    },
  },
  prompts: {
    plan: {
      description: "Plan something from what is there",
      input: z.object({ box: z.string(), style: z.string().optional() }),
      choices: { box: ({ state }) => Object.keys(state.boxes) },
      view: ({ state, args }) => `I have ${state.boxes[args.box] ?? 0} ${args.box}. What can I build in ${args.style ?? "any"} style?`,
    },
  },
});
