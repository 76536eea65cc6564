// What Troupe promises of services that are not actors, each with the tests that show it.
import type { Requirement } from "../requirements.ts";

const actions = "actions of a service ›";
const states = "states of a service ›";
const links = "links of a service ›";
const observables = "observables of a service ›";
const source = "fromAgenticService ›";
const generated = "200 generated services: lists, calls, states and flags are those of a model, and disposals equal subscriptions";
const overHttp = "troupe serve of an AgenticService › over HTTP, to SDK ${which.sdk} of the ${which.era} era";
const overStdio = "troupe serve of an AgenticService › over stdio, to SDK ${which.sdk} of the ${which.era} era";
const withOptions =
  "an AgenticService with options › is confirmed, described and read by tools, by SDK ${which.sdk} of the ${which.era} era";
const played =
  "tic-tac-toe › two official clients of the legacy era play whole games, and hear of each change of their own list and of nothing else";

/** What there must be. */
const services: readonly Requirement[] = [
  {
    id: "agentic.serve",
    says: "troupe serve service.ts serves an AgenticService as it is",
    tests: [overHttp, overStdio],
  },
  {
    id: "agentic.embed",
    says: "serve(service, { transport }) needs no engine, command line or disk",
    tests: [
      "an AgenticService served inside an application › serves an official client of version 1 over the SDK's own transport",
      "an AgenticService served inside an application › serves an official client of version 2 over a port",
      "an AgenticService served inside an application › is released when its client disconnects",
      "a source is served the same way, and is not closed",
    ],
  },
  {
    id: "agentic.browser",
    says: "The browser build is loaded in Chromium and spoken to over its in-page transport",
    tests: [
      "a service lives inside a page, and official clients of both versions and eras speak to it there",
      "Node and browsers hash, sign and write alike",
      "Node and browsers decode alike, invalid base64 and UTF-8 included",
    ],
  },
  {
    id: "agentic.source",
    says: "fromAgenticService(service, options) is a source by the service's shape alone",
    tests: [
      `${source} shows the actions that are available now as tools, and states as resources`,
      `${source} takes the older shape too: one schema or none, text as an error`,
    ],
  },
  {
    id: "agentic.actions.tools",
    says: "Actions are tools: name, description, an input schema for none, one object, one scalar and several parameters",
    tests: [
      `${actions} take one object as it is, a scalar by its title, several by title in order, and what has a title twice by number`,
      `${actions} keep the references within a schema that is wrapped`,
      generated,
    ],
  },
  {
    id: "agentic.actions.shapes",
    says: "Both shapes the library has had are served: a schema or false, and a list of parameters",
    tests: [
      `${source} takes the older shape too: one schema or none, text as an error`,
      "the real @adobe/data › at ${version}: its services are served as they are",
    ],
  },
  {
    id: "agentic.actions.options",
    says: "Per action, by option: annotations, title, hidden, confirm",
    tests: [
      `${actions} get by option what the service does not say of them`,
      `${actions} are confirmed by the person first, where that is wanted and the client can ask`,
      withOptions,
    ],
  },
  {
    id: "agentic.call.availability",
    says: "Availability is checked at the time of the call; hidden and unknown answer alike",
    tests: [`${source} law 3: availability is checked when called, whatever was listed`, generated],
  },
  {
    id: "agentic.call.spread",
    says: "Several parameters are spread, in order",
    tests: [
      `${actions} take one object as it is, a scalar by its title, several by title in order, and what has a title twice by number`,
      `${source} calls one or several parameters, and checks them, since the service does not`,
    ],
  },
  {
    id: "agentic.call.outcomes",
    says: "Nothing is success with empty text, text is an error, other data is structured content",
    tests: [`${actions} return nothing, text that is an error, or data; by option text that is data`, overHttp, overStdio],
  },
  {
    id: "agentic.call.throws",
    says: "A throw is an error with its message, and the service lives on",
    tests: [
      `${actions} that throw anything are told with its words, bounded, and go on`,
      `${source} a throw is told with its message and the service lives on; a state that does not fit its schema is shown all the same`,
      overHttp,
    ],
  },
  {
    id: "agentic.call.validated",
    says: "Input is validated against the schema before the service sees it",
    tests: [`${source} calls one or several parameters, and checks them, since the service does not`, overHttp, generated],
  },
  {
    id: "agentic.call.bounded",
    says: "An action that does not end is given up after a time, or when the caller leaves",
    tests: [`${actions} that do not end are given up after a time, or when the caller leaves`],
  },
  {
    id: "agentic.call.changed",
    says: "By option a result carries the states that changed",
    tests: [`${actions} carry by option the states that changed`, played],
  },
  {
    id: "agentic.states.omitted",
    says: "States may be omitted",
    tests: [`${states} are omitted where that is chosen, and not even listened to`, generated],
  },
  {
    id: "agentic.states.resources",
    says: "By default each state is a resource mcp://<service>/state/<key>, subscribable and updated",
    tests: [`${states} are resources by default, subscribable, and updated`, overHttp, overStdio],
  },
  {
    id: "agentic.states.tool",
    says: "States may be one get_state tool",
    tests: [`${states} are one tool where that is chosen, all of them or those that are asked for`, generated, withOptions],
  },
  {
    id: "agentic.states.violating",
    says: "Values that violate their own schema are served, never hidden",
    tests: [
      `${states} are served though they violate their own schema`,
      "tic-tac-toe › over stdio one client has both sides, each under its name, in either era",
    ],
  },
  {
    id: "agentic.states.fast",
    says: "Fast states are throttled per subscriber, the last value wins",
    tests: [
      `${states} of fast ones a subscriber hears once in an interval, and then of the last value`,
      `${states} of one that is back where it was when its interval ends nothing is told`,
      `${states} C8 what a caller changed is flagged to it before the reply, however fast`,
    ],
  },
  {
    id: "agentic.states.huge",
    says: "Huge states are paged",
    tests: [`${states} that are huge are read in pages, whose ids are of one value`, overHttp],
  },
  {
    id: "agentic.states.binary",
    says: "Binary states are blobs",
    tests: [`${states} that are bytes are blobs, in pages where they are many`],
  },
  {
    id: "agentic.states.bounded",
    says: "States that contain themselves or are without bound are cut or refused",
    tests: [`${states} that contain themselves or are without bound are cut or refused, and take nothing else away`],
  },
  {
    id: "agentic.states.descriptions",
    says: "States have descriptions by option",
    tests: [`${states} are resources by default, subscribable, and updated`],
  },
  {
    id: "agentic.links.namespaced",
    says: "By default links are namespaced tools",
    tests: [`${links} are namespaced by default: tools and states under their keys`, generated],
  },
  {
    id: "agentic.links.flat",
    says: "Links may be one flat list",
    tests: [`${links} are flat where that is chosen, named by a convention of one's own or with one sign between`, generated],
  },
  {
    id: "agentic.links.list",
    says: "Links may be told out of band: a list_links tool and resource",
    tests: [`${links} are told out of band where that is chosen, and their services not listened to`, withOptions],
  },
  {
    id: "agentic.links.change",
    says: "Links that swap target, appear, vanish and go in circles are handled, and bounded",
    tests: [
      `${links} that swap target, appear and vanish are followed, and what they leave is let go`,
      `${links} that go in circles end, and a service that many ways lead to is listened to once`,
      `${links} are bounded in depth and number, nearest first`,
      `${links} that grow because they are followed do not go on for ever`,
      generated,
    ],
  },
  {
    id: "agentic.observe.coalesced",
    says: "Emissions that are late, repeated or a glitch make one difference per tick, and list_changed is told only of real changes",
    tests: [
      `${observables} that emit late, again and again, or with glitches make one difference for each tick, and none where there is none`,
      `${source} C8 one change told many times is flagged once, an equal one never, and before the reply`,
      generated,
    ],
  },
  {
    id: "agentic.observe.deadline",
    says: "An observable that never emits delays nothing past a deadline",
    tests: [
      `${observables} that never emit delay nothing past one deadline, however many follow each other`,
      `${source} does not wait for ever for a map that never comes`,
    ],
  },
  {
    id: "agentic.observe.faults",
    says: "An observable that throws, emits nonsense or goes on after it was let go takes nothing else away",
    tests: [
      `${observables} that throw, emit nonsense or return no undo take nothing else away, and are told as faults`,
      `${observables} that go on after they were let go are not heard`,
    ],
  },
  {
    id: "agentic.observe.closing",
    says: "Closing unsubscribes everything: disposals equal subscriptions",
    tests: [`${observables} are all let go when the source is closed, which then knows nothing and tells nothing`, generated],
  },
  {
    id: "agentic.wait",
    says: "A wait_for_change tool by option, for agents that cannot hear pushes",
    tests: [
      "wait_for_change › is there by option only",
      "wait_for_change › ends with the first change, and says which states and tools there are now",
      "wait_for_change › waits for the states that are named and for no others",
      "wait_for_change › ends at its time, by default after 30 seconds, and says that it did",
      "wait_for_change › misses nothing between two calls that tell since when",
      "wait_for_change › is cancelled with its call, and leaves nothing behind",
      "tic-tac-toe › turn by turn, a client that hears no push waits for the other's move",
    ],
  },
  {
    id: "agentic.schema",
    says: "toJSONSchema(schema) is strict 2020-12, its fields mapped or stripped one by one",
    tests: [
      "toJSONSchema › ${what} is mapped or taken away",
      "toJSONSchema › makes strict 2020-12 of every schema of the library's math",
      "toJSONSchema › ends where a schema contains itself, however often",
      "toJSONSchema › makes a valid schema of whatever it is given",
      "the real @adobe/data › at ${version}: its math schemas become valid 2020-12",
    ],
  },
  {
    id: "agentic.several",
    says: "Several services on one server",
    tests: [
      `${links} lead to several services on one server: each under its key`,
      "several services on one server › are merged where their names differ, or put under prefixes, and each keeps its own states",
    ],
  },
  {
    id: "agentic.viewers",
    says: "A factory from viewer to service: two clients play the two sides of one game",
    tests: [
      "a service for each viewer › is made once for each principal, and each meets its own",
      "a service for each viewer › is none where the factory gives none, and is tried again where it failed",
      "a service for each viewer › is let go when nobody has called or listened for long, and all are with the source",
      played,
      "tic-tac-toe › without keys each session of the legacy era is a player",
    ],
  },
  {
    id: "agentic.actor",
    says: "toAgenticService(ref) shows an actor as an AgenticService that the library's own consumers accept",
    tests: [
      "toAgenticService › shows an actor's states, actions and links, and acts through its turns",
      "toAgenticService › shows other actors as links, and the same actor as the same object, so that circles end",
      "toAgenticService › is taken by the library's own create as a link, and by fromAgenticService",
      "toAgenticService › emits one by one, only what changed, and listens to the engine only while somebody listens",
      "toAgenticService › shows nothing of what is not there, of another's, or of no known kind; with `start` the first action begins it",
    ],
  },
  {
    id: "agentic.tic-tac-toe",
    says: "Two official clients play whole games of tic-tac-toe; the list_changed each receives equals the real changes of its own list",
    tests: [
      played,
      "tic-tac-toe › a client of the modern era plays one of the legacy era, and lists of the modern one follow its turn too",
      "whatever two players try, each is offered what the rules allow, and told of the changes of its own list alone",
    ],
  },
  {
    id: "agentic.versions",
    says: "The real @adobe/data at 0.9.45, 0.9.56 and 0.10.1",
    tests: ["the real @adobe/data › at ${version}: its services are served as they are"],
  },
];

/** The rows of the assessment's two tables. */
const rows: readonly Requirement[] = [
  {
    id: "agentic.surface.states",
    says: "states: each has a schema and a value, conditionally visible",
    tests: [`${states} are resources by default, subscribable, and updated`, generated],
  },
  {
    id: "agentic.surface.actions",
    says: "actions: each has a description, input and execute, conditionally visible",
    tests: [`${source} shows the actions that are available now as tools, and states as resources`, generated],
  },
  {
    id: "agentic.surface.execute",
    says: "execute: nothing, or an ActionError, which is a string",
    tests: [`${actions} return nothing, text that is an error, or data; by option text that is data`],
  },
  {
    id: "agentic.surface.links",
    says: "links: an observable map of keys to other services",
    tests: [`${source} follows links under prefixes, as they swap, without going round, and lets go of everything`, generated],
  },
  {
    id: "agentic.gap.observe",
    says: "Push to pull: subscribed, cached, and served from what was heard last",
    tests: [`${source} C8 one change told many times is flagged once, an equal one never, and before the reply`, generated],
  },
  {
    id: "agentic.gap.schema",
    says: "Schemas are used as they are, with non-standard fields stripped or mapped",
    tests: ["toJSONSchema › ${what} is mapped or taken away"],
  },
  {
    id: "agentic.gap.errors",
    says: "An ActionError is a result with isError and one text",
    tests: [overHttp, overStdio],
  },
  {
    id: "agentic.gap.transport",
    says: "Over stdio and HTTP, to clients of both eras",
    tests: [overHttp, overStdio],
  },
];

export const agentic: readonly Requirement[] = [...services, ...rows];
