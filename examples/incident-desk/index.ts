import { actor, hasClaim, index, type Viewer } from "troupe";
import * as z from "zod";

const ESCALATE_AFTER_MS = 15 * 60_000;
const MAX_NOTICES = 200;
const MAX_COMMENTS = 200;
/** 200 comments of 2,000 characters take up to 2.4 MB, since JSON has six bytes for some characters. */
const MAX_STATE_BYTES = 4_194_304;

/** Each user's notifications. */
export const inbox = actor("inbox", {
  description: "Your notifications.",
  per: "user",
  state: z.object({ notices: z.array(z.object({ at: z.number(), text: z.string() })).default([]) }),
  tools: {
    clear: {
      description: "Delete your notifications.",
      enabled: ({ state }) => state.notices.length > 0 || "You have no notifications.",
      run({ state }) {
        state.notices = [];
      },
    },
  },
  resources: { notices: { uri: "inbox://mine", mimeType: "application/json", view: ({ state }) => state.notices } },
  messages: {
    notify: {
      input: z.object({ text: z.string() }),
      run({ state, args, now }) {
        state.notices.push({ at: now, text: args.text });
        if (state.notices.length > MAX_NOTICES) state.notices.shift();
      },
    },
  },
});

const Incident = z.object({
  title: z.string().max(200),
  severity: z.int().min(1).max(3).describe("1 is the worst"),
  status: z.enum(["open", "acknowledged", "resolved"]).default("open"),
  reporter: z.string().default("somebody"),
  responder: z.string().optional(),
  comments: z.array(z.object({ by: z.string(), text: z.string() })).default([]),
});

const allow = {
  responder: {
    holds: ({ viewer }: { readonly viewer: Viewer }) => hasClaim(viewer, "roles", "responder"),
    reason: "Only responders may do this.",
  },
};

/** One incident. The desk creates it. */
export const incident = actor("incident", {
  description: "An incident.",
  per: "link",
  maxStateBytes: MAX_STATE_BYTES,
  allow,
  state: Incident,
  initial: ({ args }) => Incident.parse(args),
  tools: {
    acknowledge: {
      description: "Take the incident on.",
      allow: "responder",
      enabled: ({ state }) => state.status === "open" || `The incident is ${state.status}.`,
      run({ state, viewer, key, cancel, send, settled }) {
        state.status = "acknowledged";
        state.responder = viewer.principal;
        cancel("escalate");
        send(inbox.at(state.reporter).notify({ text: `${key} was acknowledged.` }));
        return settled("Acknowledged.");
      },
    },
    comment: {
      description: "Add a comment.",
      input: z.object({ text: z.string().min(1).max(2_000) }),
      enabled: ({ state }) => state.comments.length < MAX_COMMENTS || "There are too many comments: report another incident.",
      run({ state, args, viewer }) {
        state.comments.push({ by: viewer.principal ?? "somebody", text: args.text });
      },
    },
    resolve: {
      description: "Close the incident.",
      allow: "responder",
      enabled: ({ state }) => state.status === "acknowledged" || "Only an acknowledged incident can be resolved.",
      confirm: ({ state }) => `Resolve "${state.title}"?`,
      run({ state, key, send }) {
        state.status = "resolved";
        send(inbox.at(state.reporter).notify({ text: `${key} was resolved.` }));
      },
    },
  },
  resources: { state: { uri: "incident://{alias}/state", mimeType: "application/json", view: ({ state }) => state } },
  messages: {
    opened: {
      run({ wake, messages }) {
        wake("escalate", { afterMs: ESCALATE_AFTER_MS, message: messages.unacknowledged() });
      },
    },
    unacknowledged: {
      run({ state, key, send }) {
        state.severity = 1;
        send(desk.at("main").escalate({ incident: key, title: state.title }));
      },
    },
  },
});

/** The desk where users report incidents and responders go on call. */
export const desk = actor("desk", {
  description: "Report incidents, and find them.",
  per: "shared",
  allow,
  state: z.object({ reported: z.int().default(0), onCall: z.array(z.string()).default([]) }),
  links: { incident: { kind: incident, by: "incident" } },
  tools: {
    report: {
      description: "Report an incident.",
      input: Incident.pick({ title: true, severity: true }),
      output: z.object({ incident: z.string() }),
      run({ state, args, viewer, create, send, settled }) {
        const key = `INC-${(state.reported += 1)}`;
        create(incident.at(key), { ...args, reporter: viewer.principal });
        send(incident.at(key).opened());
        return settled({ incident: key });
      },
    },
    go_on_call: {
      description: "Be notified of incidents that nobody acknowledges.",
      allow: "responder",
      run({ state, viewer }) {
        if (viewer.principal !== undefined && !state.onCall.includes(viewer.principal)) state.onCall.push(viewer.principal);
      },
    },
  },
  messages: {
    escalate: {
      input: z.object({ incident: z.string(), title: z.string() }),
      run({ state, args, send }) {
        send(inbox.each(state.onCall).notify({ text: `${args.incident} is not acknowledged: ${args.title}` }));
      },
    },
  },
});

/** Incidents that are not resolved, the worst first. */
export const open = index(incident, {
  where: ({ state }) => state.status !== "resolved",
  pick: ["title", "severity", "status"],
  order: "severity",
  uri: "incidents://open",
  tool: "find_incidents",
  description: "Incidents that are not resolved, the worst first.",
});
