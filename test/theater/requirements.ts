// What Troupe promises of Theater's MCP server, each with the tests that show it.
import type { Requirement } from "../requirements.ts";

const old = "a client of 2024-11-05 › meets theater-mcp 0.1.0 in that revision, with the capabilities that are specified";
const v1 = "the official client v1 at Theater's face ›";
const reads = `${v1} lists, reads and completes what the specification lists`;
const calls = `${v1} calls every tool, and finds each result as its output schema says`;
const errors = `${v1} reads errors as a tool's: base64, arguments and what the stage refuses`;
const told = `${v1} C8 hears that actors come and go, and of what it subscribed to, before the reply`;
const v2 = "the official client v2 of 2026-07-28 at Theater's face › discovers, lists, calls, reads, and listens";
const schemas = "the tools › have the specification's names, descriptions and input schemas, whose additions are optional";
const hints = "the tools › each has a title, an output schema and what a host should know before it asks anybody";
const events = "theater://events/{actor_id} › is the chain, oldest first: id, actor, time, type, parent, data and children of each";
const manage =
  "stop_actor, restart_actor, send_message and request_message › answer as the specification says, to an id and to a name alike";
const channel = "a channel › is opened with a first message, spoken on, heard on and closed";
const listed = "the resources that are listed: the actors, templates with titles and descriptions, and an entry for each actor";
const waits = "get_events and wait_for_event › wait_for_event";

const everywhere = "Theater's MCP face over ${name} ›";

/** The specification, line by line. */
const lines: readonly Requirement[] = [
  // 2. Server information
  { id: "theater.server.info", says: "The server is theater-mcp 0.1.0", tests: [old] },
  { id: "theater.server.revision", says: "The protocol's revision is 2024-11-05; who asks for a newer one gets that", tests: [old, v2] },
  // 3. Capabilities
  {
    id: "theater.capabilities",
    says: "Resources with subscribe and listChanged, tools with listChanged, prompts with listChanged",
    tests: [old, v2],
  },
  // 4.1 Actor resources
  {
    id: "theater.resources.actors",
    says: "theater://actors: id, name, status and uri of each actor, and the total, as application/json",
    tests: ["theater://actors › lists id, name, status and uri of each, and how many there are", old],
  },
  {
    id: "theater.resources.actor",
    says: "theater://actor/{actor_id}: id, manifest, status, created_at, events_uri, state_uri, metrics",
    tests: [
      "theater://actor/{actor_id} › tells manifest, status, when it began, where its events and state are, and what was measured",
      reads,
    ],
  },
  {
    id: "theater.resources.state",
    says: "theater://actor/{actor_id}/state: the actor's own state data",
    tests: [
      "theater://actor/{actor_id}/state › is the state where it is JSON, in the actor's own words; else its bytes, or that there is none",
      reads,
    ],
  },
  // 4.2 Event resources
  {
    id: "theater.resources.events",
    says: "theater://events/{actor_id}: an array of event_id, actor_id, timestamp, type, parent_id, data and children with id and uri",
    tests: [events, reads],
  },
  {
    id: "theater.resources.event",
    says: "theater://event/{event_id}: an event by its unique id",
    tests: ["theater://event/{event_id} › is that event, whosever it is", reads],
  },
  { id: "theater.resources.templates", says: "The templates are listed as specified", tests: [listed, reads] },
  // 5. Tools
  { id: "theater.tools.schemas", says: "Eight tools with the names, descriptions and input schemas that are specified", tests: [schemas] },
  {
    id: "theater.tools.start-actor",
    says: "start_actor starts an actor from a manifest, with an optional initial_state, and tells its id",
    tests: ["start_actor › starts from a manifest, with a state, a name and a component, and gives id, name and status", calls],
  },
  { id: "theater.tools.stop-actor", says: "stop_actor confirms that the actor ended", tests: [manage, calls] },
  { id: "theater.tools.restart-actor", says: "restart_actor confirms that the actor was restarted", tests: [manage, calls] },
  { id: "theater.tools.send-message", says: "send_message takes base64 and confirms its delivery", tests: [manage, calls] },
  { id: "theater.tools.request-message", says: "request_message takes base64 and gives the actor's response", tests: [manage, calls] },
  {
    id: "theater.tools.open-channel",
    says: "open_channel takes an optional first message and gives the channel's id",
    tests: [channel, calls],
  },
  { id: "theater.tools.send-on-channel", says: "send_on_channel confirms that the message was sent", tests: [channel, calls] },
  { id: "theater.tools.close-channel", says: "close_channel confirms that the channel was closed", tests: [channel, calls] },
  // 6. Subscriptions and notifications
  {
    id: "theater.list-changed",
    says: "notifications/resources/list_changed is sent when the list of actors changes",
    tests: [old, told, v2, "the list of resources › is told to have changed when actors come and go, and only then"],
  },
  // 7.1 The client of Theater
  {
    id: "theater.proxy",
    says: "Every operation is carried out by the Theater server, over TCP",
    tests: [
      `${everywhere} shows an actor from its start to its end: lists, details, state, events, and tells of them`,
      `${everywhere} answers requests, several at once each with its own, and waits for what happens`,
      `${everywhere} opens a channel, speaks on it, and closes it`,
      `${everywhere} says by Theater's names what cannot be, and what to do instead`,
    ],
  },
  {
    id: "theater.mapping",
    says: "What MCP names is what Theater has: an actor by its id or its unique name",
    tests: [manage, "subscribed to an actor › a name is whoever bears it: after one ended, the next"],
  },
];

/** What the specification leaves open, and what goes beyond it. */
const beyond: readonly Requirement[] = [
  {
    id: "theater.face.bounded-lists",
    says: "Lists hold at most 1,000 actors and 1,000 events, the newest; the total is right, and older events have a template of their own",
    tests: [
      "theater://actors › is bounded, and its total is not",
      "theater://events/{actor_id} › gives the last, and those before an event where `before` names it",
      "theater://events/{actor_id} › leaves out the older ones where all together are too long, and gives one however long it is",
    ],
  },
  {
    id: "theater.face.not-json",
    says: "What is not JSON is base64, and what an actor says is never taken for the server's own words",
    tests: [
      "theater://actor/{actor_id}/state › that is made to be taken for content of ours, or nested beyond all measure, stays data",
      events,
    ],
  },
  {
    id: "theater.face.unknown",
    says: "What does not exist is resource-not-found with its URI",
    tests: ["what does not exist is unknown, whichever resource is asked for it", old],
  },
  {
    id: "theater.face.subscriptions",
    says: "Each URI can be subscribed to, and tells of its own changes only",
    tests: [
      told,
      "subscribed to an actor › C8 details, state and events tell of that actor's changes and of no other's, by id, by name and by its entry",
      "subscribed to theater://actors › tells at once that actors come and go, and soon that a status changed; not that anything else did",
      "subscribed to an event › tells when more follows from it, in its own chain or elsewhere",
    ],
  },
  {
    id: "theater.face.outputs",
    says: "Every tool has an output schema, and its result is structure and the same JSON as text",
    tests: [hints, calls],
  },
  {
    id: "theater.face.base64",
    says: "Base64 is taken in its one spelling, and else refused with what to send instead",
    tests: [
      "base64 of a message › is taken in its one spelling only: what any other text is, is said with what to send instead",
      "stop_actor, restart_actor, send_message and request_message › data that is not base64 reaches nobody",
    ],
  },
  {
    id: "theater.face.errors",
    says: "Errors are a tool's own, with Theater's name and the next step",
    tests: [
      errors,
      "errors of the stage › are the tool's own, with Theater's name and the next step",
      "errors of the stage › a paused actor's says after which event it is paused, and that restart_actor resumes it",
    ],
  },
  {
    id: "theater.face.without-resources",
    says: "For hosts that read no resources: list_actors, get_actor, get_events, wait_for_event, receive_on_channel",
    tests: [
      "list_actors and get_actor › list page by page, each actor once, with how many there are",
      "list_actors and get_actor › get_actor has the details and the state, and names a state that is too long",
      "get_events and wait_for_event › get_events pages forwards from an event, and gives the last without one",
      `${waits} gives what already followed at once, and else the next as soon as there is one`,
      calls,
    ],
  },
  {
    id: "theater.face.waiting",
    says: "wait_for_event ends with its time, and when its caller leaves",
    tests: [
      `${waits} ends with its time, and says from where to go on`,
      `${waits} honours its caller's leaving, and the face's end`,
      `${v1} cancels a wait_for_event, and nobody goes on waiting`,
    ],
  },
  {
    id: "theater.face.slow-request",
    says: "One slow request does not hold up the rest",
    tests: [
      "stop_actor, restart_actor, send_message and request_message › a request that takes too long is a Timeout, and does not hold up another",
    ],
  },
  {
    id: "theater.face.channels",
    says: "A channel belongs to its viewer, ends with actor, viewer or idleness, and says so",
    tests: [
      "a channel › C8 belongs to who opened it: for anybody else there is none",
      "a channel › says once that it has ended and why, after the last message; later calls hear the same",
      "a channel › ends after ten minutes without a call, says so once, and is forgotten in the end",
      "a channel › keeps so many messages and bytes; older ones are dropped, and it is told how many",
      "a channel › is one of so many: one more is refused until another ended",
    ],
  },
  {
    id: "theater.face.prompts",
    says: "Prompts diagnose an actor and explain its last events",
    tests: [
      "the prompts › diagnose_actor embeds an actor's details, state and last events as the resources they are",
      "the prompts › explain_events shows as many events as are asked for",
    ],
  },
  {
    id: "theater.face.completion",
    says: "An actor_id is completed",
    tests: ["an actor_id › is completed from ids and names; of a name that others bear too, the id", reads],
  },
  {
    id: "theater.face.scope",
    says: "Without the scope that is asked for there is nothing",
    tests: ["without the scope that is asked for there is nothing here"],
  },
];

export const theater: readonly Requirement[] = [...lines, ...beyond];
