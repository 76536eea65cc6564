// What Troupe promises of capabilities and packets, each with the tests that show it.
import type { Requirement } from "../requirements.ts";

const examples = "the specification's examples ›";
const figures = "the specification's figures › ${what} are measured by the bench, against a target that is no worse";
const served = "troupe serve --packets ›";
const configured = "troupe serve --packets --config › is named, bounded and shown as the configuration says";
const ending = "packets under way when troupe serve ends ›";
const together = "capabilities over MCP and packets › are the same tools and the same actor, to SDK ${which.sdk} of the ${which.era} era";
const searched = "what was said to an assistant › is found by whose it is, also after a restart and with the index thrown away";
const alike = "Layers 1 and 2, with Layer 4 and without ›";
const fuzzed = "fuzzed packets to a whole system ›";
const wrong = `${fuzzed} that are wrong in what they ask are answered \${type}`;
const judged =
  "the official conformance suite, inside packets › every scenario of ${requirements} that needs no HTTP passes through mcp_request, and each answer is the gateway's own";
const distributed = "actors of capabilities that are distributed answer as local ones do, and are there for the next node";
const restored = "on disk, what ended is restored before its next message: state, count and beginning go on";
const crash = "a crash fails the message and not the actor; failures are not counted";
const serial = "C1 one message at a time, work included; actors run concurrently, and reads never queue";
const spent = "what does not reply in time is actor_timeout with the actor and the time, and changes nothing";
const trace = "a packet's trace goes into its reply, what it calls, the chain and the effects";
const repeats = "every reply › repeats id, intent, capability_id, actor_id and context, with the trace that was made up";
const quota = "of one user there are so many at a time, of all capabilities together; the refusal says limit and used";
const mine = "another's actor does not exist: not to message, read, end, list, nor to restore once it ended";
const noted = "an actor message begins its actor, keeps its state, and counts what was applied";
const coming = "C8 when capabilities come and go every client is told, and the list is new";
const changing =
  "C8 a viewer is told when its own actor changes, begins or ends, before its reply, and never of another's (${persistence})";
const settings = `${examples} both configurations are the defaults`;
const matching = "the first pattern in source order is taken, by its parts, however much more the payload holds";
const newer = "a newer version migrates what sleeps and what had ended; an older one refuses it and leaves it be";
const chosen = "persistence is chosen at creation, and takes the capability's own timeout with it";
const tools = "a capability of tools answers under their names, with the blocks it chose";

/** The specification, line by line. */
const lines: readonly Requirement[] = [
  // 1. Actor capability definition
  {
    id: "packet.actor.fields",
    says: "An actor capability has the standard fields: intent, requires, provides",
    tests: [
      `${examples} the actor message begins its actor by its options, and the reply repeats what it said`,
      "what is required is looked at before anything begins",
      "C3 what breaks the contract leaves no trace in its actor, turn and work alike",
    ],
  },
  {
    id: "packet.actor.initial-state",
    says: "initial_state: what an actor of it begins with",
    tests: [
      "two actors of a capability share nothing, not even what they began with",
      "a first state that does not fit its schema begins no actor",
    ],
  },
  {
    id: "packet.actor.persistence",
    says: "state_persistence is memory, disk or distributed",
    tests: [
      "with a store, actors that are ${persistence} keep their state beyond their end",
      distributed,
      "where a persistence cannot be had, nothing begins",
    ],
  },
  {
    id: "packet.actor.timeout",
    says: "actor_timeout ends an actor that gets no messages",
    tests: [
      "idle: in memory an actor ends after so long without a message, and begins anew",
      "idle: on disk an actor sleeps, and is what it was",
    ],
  },
  {
    id: "packet.actor.messages",
    says: "handle_message: patterns, each with its handler",
    tests: [
      matching,
      "a schema gives its handler what it made; what it refuses goes on to the next pattern",
      "types: payloads are as their patterns make them, state is the author's own",
    ],
  },
  {
    id: "packet.actor.periodic",
    says: "handle_info: periodic tasks",
    tests: ["periodic handlers run by the clock, and are not counted as messages", "on disk they survive a restart"],
  },
  // 2. MCP tool integration
  {
    id: "packet.tools.definition",
    says: "An MCP capability has tools with description, parameters and required",
    tests: ["a capability of tools lists its own", `${examples} the MCP request runs the tool, and its reply holds the JSON-RPC response`],
  },
  {
    id: "packet.tools.handler",
    says: "handle_tool_call: one function of name, parameters and context",
    tests: [tools, "several tools: the one that is named runs, another is no_handler"],
  },
  // Protocol extensions
  {
    id: "packet.message.actor",
    says: "actor_message: as the page shows it, to the field",
    tests: [
      `${examples} the actor message begins its actor by its options, and the reply repeats what it said`,
      "the schema of requests › accepts the requests of the specification, as the reader does",
      "a packet is refused › where an actor_message names no capability",
    ],
  },
  {
    id: "packet.message.context",
    says: "context: user_id, session_id, trace_id, timestamp",
    tests: [repeats, trace, "user_id must be the caller's own: otherwise unauthorized, and nothing is written"],
  },
  {
    id: "packet.message.create-if-missing",
    says: "actor_options.create_if_missing: false finds what is there and begins nothing",
    tests: ["create_if_missing: false finds what is there, and begins nothing", wrong],
  },
  {
    id: "packet.message.state-timeout",
    says: "actor_options.state_timeout: of the actor that begins",
    tests: ["state_timeout is of the actor that begins, and of no other", "a packet is refused › with a state_timeout of ${timeout}"],
  },
  {
    id: "packet.message.persistence",
    says: "actor_options.persistence: of the actor that begins",
    tests: [chosen],
  },
  {
    id: "packet.message.mcp",
    says: "mcp_request: JSON-RPC inside a packet, as the page shows it",
    tests: [`${examples} the MCP request runs the tool, and its reply holds the JSON-RPC response`, judged],
  },
  // Actor lifecycle
  {
    id: "packet.life.request",
    says: "Creation 1: a client sends a message to an actor capability",
    tests: [noted, `${served} takes packets over WebSocket and TCP: the same actor behind all doors`],
  },
  {
    id: "packet.life.lookup",
    says: "Creation 2: the registry looks whether there is one of that actor_id",
    tests: ["create_if_missing: false finds what is there, and begins nothing", "an actor_id is 1 to 256 bytes of text, whatever they are"],
  },
  {
    id: "packet.life.spawn",
    says: "Creation 3: where it is missing and may be created, it is begun",
    tests: [noted, "a race of fifty never goes beyond it, and what is begun by several at once counts once"],
  },
  {
    id: "packet.life.initialize",
    says: "Creation 4: with its initial state, or restored from persistence",
    tests: [restored, "what its lifetime ended goes on as well, for another lifetime"],
  },
  {
    id: "packet.life.route",
    says: "Creation 5: the message is routed to it",
    tests: [noted, serial],
  },
  {
    id: "packet.state.structure",
    says: "An actor's state has actor_id, capability_id, state, and metadata: created_at, last_message_at, message_count, persistence",
    tests: [`${examples} the actor message begins its actor by its options, and the reply repeats what it said`, together],
  },
  {
    id: "packet.end.timeout",
    says: "Termination: no message within actor_timeout",
    tests: [
      "idle: in memory an actor ends after so long without a message, and begins anew",
      "time moves when the test moves it: an actor ends after its timeout, or after its own",
      "an actor nobody speaks to ends though it ticks",
    ],
  },
  {
    id: "packet.end.stop",
    says: "Termination: the capability stops it; the reply comes, the state is kept",
    tests: ["an explicit stop replies, is kept, and ends the actor", "in memory too, a stopping actor's reply counts its last message"],
  },
  {
    id: "packet.end.shutdown",
    says: "Termination: shutdown is graceful, with state persistence",
    tests: [
      `${ending} have the grace to end: they are answered, and what they did is kept`,
      `${ending} are called off once it is over, and have done nothing`,
    ],
  },
  {
    id: "packet.end.error",
    says: "Termination: an unhandled error restarts it under supervision",
    tests: [crash, wrong],
  },
  // MCP integration
  {
    id: "packet.mcp.server",
    says: "An MCP server is generated from the capabilities: tools.listChanged, resources.subscribe and listChanged",
    tests: [`${examples} the server says in initialize what it can, and it is valid MCP`, coming, changing],
  },
  {
    id: "packet.mcp.list",
    says: "tools/list: the page's entry, byte for byte",
    tests: ["tools/list has the spec's entry byte for byte", `${examples} the tool is listed and answers to the byte`],
  },
  {
    id: "packet.mcp.call",
    says: "tools/call: the page's result, byte for byte",
    tests: [
      "tools/call runs the capability, and answers with its text and isError false",
      `${examples} the tool is listed and answers to the byte`,
    ],
  },
  // Implementation requirements
  {
    id: "packet.registry.get-or-create",
    says: "get_or_create_actor",
    tests: [
      "create_if_missing: false finds what is there, and begins nothing",
      "a race of fifty never goes beyond it, and what is begun by several at once counts once",
    ],
  },
  {
    id: "packet.registry.send",
    says: "send_to_actor settles when the message is durably accepted",
    tests: ["what was durably accepted is applied, however late", "what is sent is as it was when it was sent"],
  },
  {
    id: "packet.registry.state",
    says: "get_actor_state",
    tests: [
      `${examples} the actor message begins its actor by its options, and the reply repeats what it said`,
      "nothing an actor was given or gave can change it from outside",
    ],
  },
  {
    id: "packet.registry.terminate",
    says: "terminate_actor with a reason",
    tests: [restored, mine],
  },
  {
    id: "packet.supervisor.one-for-one",
    says: "Supervision is one for one: an actor's crash is no other's",
    tests: [crash, "one that crashes changes nothing, and comes again"],
  },
  {
    id: "packet.supervisor.transient",
    says: "What stopped is not restarted; what crashed goes on",
    tests: ["an explicit stop replies, is kept, and ends the actor", crash],
  },
  {
    id: "packet.supervisor.shutdown",
    says: "A shutdown gives actors 5 s, or as long as it is told",
    tests: [
      `${ending} have the grace to end: they are answered, and what they did is kept`,
      `${ending} are called off once it is over, and have done nothing`,
    ],
  },
  {
    id: "packet.bridge.methods",
    says: "The bridge handles initialize, tools/list, tools/call, resources/list and resources/read",
    tests: [`${examples} every method of the bridge is answered, and only those there are`, judged],
  },
  // Configuration
  {
    id: "packet.config.default-timeout",
    says: "default_timeout: 30 minutes",
    tests: [settings, "what says nothing of when it ends goes by the configuration"],
  },
  { id: "packet.config.max-actors", says: "max_actors_per_user: 10", tests: [settings, configured, quota] },
  { id: "packet.config.persistence", says: "persistence_strategy: memory", tests: [settings, "a configuration keeps all that it says"] },
  {
    id: "packet.config.cleanup",
    says: "cleanup_interval: an actor ends no later than that after its time",
    tests: [settings, "idle: in memory an actor ends after so long without a message, and begins anew"],
  },
  { id: "packet.config.server", says: "server_name and server_version", tests: [settings, configured] },
  {
    id: "packet.config.generate",
    says: "auto_generate_tools",
    tests: [settings, "without generation only the tools that capabilities define themselves are there"],
  },
  {
    id: "packet.config.expose",
    says: "expose_capabilities: all, or a list of ids",
    tests: [settings, configured, "expose governs list, call and resources alike: what is hidden and what never was answer the same"],
  },
  { id: "packet.config.tool-timeout", says: "tool_timeout: 30 s", tests: [settings, "a tool call ends after its time"] },
  // Error handling
  {
    id: "packet.errors.actor",
    says: "capability_error, as the page shows it for actor_timeout",
    tests: [`${examples} an actor that does not respond in time is told of as there`, spent],
  },
  {
    id: "packet.errors.mcp",
    says: "-32602 with data.capability_error, as the page shows it",
    tests: [
      `${examples} what is missing is -32602 with the field; what the capability says no to is a result to be read`,
      "what is missing is -32602 with the spec's data, and the capability does not run",
    ],
  },
  // Migration path
  { id: "packet.phase.1-definition", says: "Phase 1: capabilities with actors", tests: [noted] },
  { id: "packet.phase.1-supervision", says: "Phase 1: actors and their supervision", tests: [crash, serial] },
  { id: "packet.phase.1-lifecycle", says: "Phase 1: an actor's life, managed by the registry", tests: [restored, mine] },
  { id: "packet.phase.1-routing", says: "Phase 1: messages are routed to actors", tests: [matching, "who names no actor gets its own"] },
  {
    id: "packet.phase.2-bridge",
    says: "Phase 2: MCP through packets",
    tests: ["a tunnelled mcp_request runs the same tools, and a JSON-RPC error is a response packet"],
  },
  {
    id: "packet.phase.2-generation",
    says: "Phase 2: MCP tools are generated from capabilities",
    tests: ["without parameters every required field is guessed from its name, and said to be required"],
  },
  { id: "packet.phase.2-messages", says: "Phase 2: MCP's messages are handled", tests: [judged] },
  { id: "packet.phase.2-configuration", says: "Phase 2: an MCP server's configuration", tests: [configured] },
  {
    id: "packet.phase.3-persistence",
    says: "Phase 3: strategies of persistence",
    tests: ["with a store, actors that are ${persistence} keep their state beyond their end", chosen],
  },
  { id: "packet.phase.3-distribution", says: "Phase 3: actors are clustered and distributed", tests: [distributed] },
  {
    id: "packet.phase.3-search",
    says: "Phase 3: conversation memory and search",
    tests: [searched, "it finds what a naive search of every text finds, whoever asks and after a rebuild too"],
  },
  {
    id: "packet.phase.3-performance",
    says: "Phase 3: performance",
    tests: [figures, "the specification's figures › are what `npm run bench` runs"],
  },
  // Compatibility
  {
    id: "packet.backward.unchanged",
    says: "Existing capabilities work unchanged",
    tests: [`${alike} answer every sort of packet byte for byte alike`, `${alike} tell of the same effects`],
  },
  {
    id: "packet.backward.opt-in",
    says: "Actors and MCP are opt-in",
    tests: [`${alike} are listed, found and asked for alike, and nothing of Layer 4 is there unless it was asked for`],
  },
  {
    id: "packet.backward.wire",
    says: "The wire protocol stays compatible",
    tests: [`${alike} answer alike whatever is sent to them`, "a packet that is read › loses fields that version 1.0 does not name"],
  },
  {
    id: "packet.backward.api",
    says: "No breaking change of the core: what is called by name is called as before",
    tests: [
      `${alike} are listed, found and asked for alike, and nothing of Layer 4 is there unless it was asked for`,
      "an existing actor is a capability without a second definition: the same actor, whatever the way to it",
    ],
  },
  { id: "packet.forward.state", says: "The format of an actor's state can be extended", tests: [newer] },
  {
    id: "packet.forward.mcp",
    says: "MCP is versioned: each revision is spoken to in its own words",
    tests: [
      "an initialize is answered by the server itself, and its revision holds for the session's later packets",
      "messages of 2026-07-28 pass as they are, beside a legacy session",
      judged,
    ],
  },
  {
    id: "packet.forward.backends",
    says: "Backends of persistence can be plugged in",
    tests: [distributed, "with a store, actors that are ${persistence} keep their state beyond their end"],
  },
  {
    id: "packet.forward.timeouts",
    says: "Strategies of timeouts can be chosen",
    tests: [
      "lifetime: so long after it began, whatever is said; never: not by itself",
      "a function is asked when it begins and after each message: later, not at all, at once",
    ],
  },
  // Security
  {
    id: "packet.isolation.process",
    says: "Each actor runs on its own: one at a time within, concurrently without",
    tests: [serial, "one actor's work does not hold up another's beginning"],
  },
  {
    id: "packet.isolation.state",
    says: "An actor's state is its own",
    tests: [
      "nothing an actor was given or gave can change it from outside",
      "two actors of a capability share nothing, not even what they began with",
    ],
  },
  {
    id: "packet.isolation.registry",
    says: "Actors reach each other through the registry alone",
    tests: [
      "a capability gets a copy of what another calls it with, and gives one",
      "an actor's work asks a capability as a packet does: its user's own actor, in the same trace, told of and kept in its chain",
      mine,
    ],
  },
  {
    id: "packet.isolation.limits",
    says: "An actor's resources are bounded",
    tests: [
      "${name}: one actor › state that is not JSON is refused by its path, and state past its bound",
      "${name}: callers › a mailbox is bounded",
      quota,
    ],
  },
  {
    id: "packet.security.authentication",
    says: "Access needs authentication",
    tests: [
      `${served} does not start while it would not know whose packets come, and says what to do`,
      `${served} takes guests at loopback alone, and never beside keys`,
      `${served} knows its callers by their keys: user_id is the principal, or of one who may act as others`,
    ],
  },
  {
    id: "packet.security.authorization",
    says: "Tools run with the authorization of capabilities",
    tests: [
      "a tool call speaks to its user's own actor",
      "another's actor can be neither read, called, listed nor told from one that never was",
      together,
    ],
  },
  {
    id: "packet.security.validation",
    says: "Every MCP message is validated",
    tests: [
      `${fuzzed} with MCP inside that is none are answered with a JSON-RPC error, or refused`,
      "what is no JSON-RPC is answered as the gateway answers it, with the id it could read, and needs no session",
    ],
  },
  {
    id: "packet.security.rate",
    says: "Tool calls are limited in rate",
    tests: [
      `${served} refuses whoever asks too often, and says when to come again`,
      "a call of 2026-07-28 › takes a token of its principal's rate limit only",
    ],
  },
  // Performance
  { id: "packet.speed.creation", says: "Actor creation: about 1 ms; here at most 20 µs", tests: [figures] },
  { id: "packet.speed.routing", says: "Message routing: about 0.1 ms; here at most 10 µs", tests: [figures] },
  { id: "packet.speed.memory", says: "Memory: about 50 KB an actor; here at most 3 KB", tests: [figures] },
  {
    id: "packet.speed.cleanup",
    says: "Cleanup: about 0.01 ms an actor; here at most 0.2 µs, since none is gone through",
    tests: [figures],
  },
  {
    id: "packet.speed.discovery",
    says: "Tool discovery: about 1 ms; here at most 20 µs, since tools are made once",
    tests: [figures, "a capability's tools are made once"],
  },
  { id: "packet.speed.execution", says: "Tool execution: the capability and about 0.5 ms; here at most 20 µs", tests: [figures] },
  { id: "packet.speed.protocol", says: "Protocol: about 10 % beyond a direct call", tests: [figures] },
  // Testing strategy
  {
    id: "packet.testing.actor",
    says: "The page's test of an actor stands line by line",
    tests: [
      "actor maintains state between messages",
      "assertActorStateContains takes any part at any depth, and tells what is there instead",
      "what getActorState gives is a copy",
    ],
  },
  { id: "packet.testing.mcp", says: "The page's test of a tool call stands line by line", tests: ["MCP tool call executes capability"] },
];

/** What the page only implies. */
const implied: readonly Requirement[] = [
  {
    id: "packet.implied.1-actor-reply",
    says: "An actor_message is answered with its result, actor_id, context, execution_time_ms and message_count",
    tests: [
      repeats,
      "a response › of an actor says how many messages that has applied instead",
      "each reply counts its own message, however many run",
    ],
  },
  {
    id: "packet.implied.1-mcp-reply",
    says: "An mcp_request is answered with the JSON-RPC response, errors included, as a response",
    tests: [
      "a tunnelled mcp_request runs the same tools, and a JSON-RPC error is a response packet",
      "a JSON-RPC error is a response like any other",
    ],
  },
  {
    id: "packet.implied.1-heartbeat",
    says: "A heartbeat is answered with a heartbeat",
    tests: ["a heartbeat is answered with a heartbeat at once"],
  },
  {
    id: "packet.implied.2-protocol",
    says: "protocol_error, unsupported_version, unknown_type",
    tests: [
      `${fuzzed} of any bytes are protocol errors`,
      `${fuzzed} that were changed are refused as what they are, or are about nothing that is there`,
      "a packet is refused › of another version, which says which there are and judges nothing else",
      "a packet is refused › of an unknown type, or one that only servers send, which says which there are",
    ],
  },
  {
    id: "packet.implied.2-asked",
    says: "capability_not_found, actor_not_found, actor_limit_exceeded, validation_failed, no_handler, unauthorized, actor_crash",
    tests: [wrong],
  },
  {
    id: "packet.implied.2-limit",
    says: "actor_limit_exceeded is counted by user, and says limit and used",
    tests: [quota, "what has ended makes room, on disk too, however many did"],
  },
  { id: "packet.implied.2-timeout", says: "actor_timeout says actor_id and timeout_ms", tests: [spent] },
  {
    id: "packet.implied.2-contract",
    says: "validation_failed says what is missing of requires, contract_violation what is of provides",
    tests: [
      "what is required is looked at before anything begins",
      "C3 what breaks the contract leaves no trace in its actor, turn and work alike",
      "a function's contract holds before and after, and what it throws inside stays inside",
    ],
  },
  {
    id: "packet.implied.2-rate",
    says: "rate_limited says when to come again",
    tests: [
      `${served} refuses whoever asks too often, and says when to come again`,
      "an error › says in whole seconds when to come again, where that is known",
    ],
  },
  {
    id: "packet.implied.2-persistence",
    says: "persistence_failed: nothing begins where it cannot be kept as it should be",
    tests: ["where a persistence cannot be had, nothing begins", newer],
  },
  {
    id: "packet.implied.2-execution",
    says: "execution_failed: what a capability says no to, and what broke inside, which stays inside",
    tests: [
      "a refusal is told with its code and data, of turn, read and work, and changes nothing",
      "an error › has a code whatever its type",
    ],
  },
  {
    id: "packet.implied.3-idle",
    says: "The idle timeout ends an actor silently, its state kept as its strategy says",
    tests: [
      "idle: in memory an actor ends after so long without a message, and begins anew",
      "idle: on disk an actor sleeps, and is what it was",
    ],
  },
  {
    id: "packet.implied.3-reply",
    says: "The reply's timeout yields actor_timeout, and the actor goes on",
    tests: [spent, "a request of its own time is given up earlier, never later"],
  },
  {
    id: "packet.implied.4-serial",
    says: "Strictly one message at a time for each actor, actors concurrently",
    tests: [serial, "each reply counts its own message, however many run"],
  },
  {
    id: "packet.implied.4-private",
    says: "State is private: copies go out",
    tests: ["nothing an actor was given or gave can change it from outside", "what getActorState gives is a copy"],
  },
  {
    id: "packet.implied.5-returns",
    says: "Handlers reply with a state, refuse, or stop",
    tests: [
      "an explicit stop replies, is kept, and ends the actor",
      "a refusal is told with its code and data, of turn, read and work, and changes nothing",
    ],
  },
  { id: "packet.implied.5-crash", says: "A throw fails the message; the actor goes on from its last durable state", tests: [crash] },
  {
    id: "packet.implied.5-periodic",
    says: "Periodic handlers, by a clock that tests move",
    tests: [
      "periodic handlers run by the clock, and are not counted as messages",
      "they are set once, when an actor begins: no later message, and no second beginning, puts them off",
    ],
  },
  {
    id: "packet.implied.6-survives",
    says: "Memory loses its state at the end; disk keeps it over stop, timeout, shutdown and restart",
    tests: [
      "with a store, actors that are ${persistence} keep their state beyond their end",
      restored,
      "idle: on disk an actor sleeps, and is what it was",
      `${ending} have the grace to end: they are answered, and what they did is kept`,
    ],
  },
  { id: "packet.implied.6-override", says: "actor_options.persistence overrides the capability's", tests: [chosen] },
  { id: "packet.implied.6-versioned", says: "What is kept has a version", tests: [newer] },
  {
    id: "packet.implied.7-discovery",
    says: "Discovery by intent and by contract",
    tests: [
      "discovery by words: any of them, whatever their case, as part of the intent",
      "discovery by contract: who gives x, who needs x, and all that is asked must hold",
      `${served} answers \`troupe packet send\` and \`troupe capabilities\``,
    ],
  },
  {
    id: "packet.implied.7-chains",
    says: "Chains from what is provided to what is required, as data, with a dry run",
    tests: [
      "a chain leads from what is at hand to what is wanted, and takes nothing that is not needed",
      "a chain runs within one trace, each step with what it takes; a dry run runs nothing",
    ],
  },
  {
    id: "packet.implied.7-listing",
    says: "A listing carries actor_enabled and mcp_enabled",
    tests: [`${served} answers \`troupe packet send\` and \`troupe capabilities\``],
  },
  { id: "packet.implied.7-changed", says: "list_changed when capabilities come and go", tests: [coming] },
  {
    id: "packet.implied.8-actor-id",
    says: "A tool of an actor capability takes actor_id, or means the caller's own",
    tests: [
      "an actor's tool speaks to the caller's own actor, or the one actor_id names, which is no part of the payload",
      "an actor whose parameters are guessed takes an optional actor_id beside them",
      "who names no actor gets its own",
      together,
    ],
  },
  {
    id: "packet.implied.9-tool-errors",
    says: "A broken contract of the caller's is -32602, a failure of ours a result with isError",
    tests: [
      "what is missing is -32602 with the spec's data, and the capability does not run",
      "all other failures are results to be read: their type and message, in words and as data, and nothing from inside",
    ],
  },
  {
    id: "packet.implied.10-effects",
    says: "Effects are data, told after the run with its duration, and seen in tests",
    tests: [
      "effects are told once it has run, with its duration, also where it failed",
      "effects are asserted by what was declared, by name and by sort, with what else must hold",
    ],
  },
  {
    id: "packet.implied.10-trace",
    says: "A trace_id is made where there is none, and goes into nested calls",
    tests: [trace, "where a packet has none, one is made and told, of an error too", "what an actor sends on carries the trace along"],
  },
  {
    id: "packet.implied.11-expose",
    says: "What is not exposed is neither listed nor called: an unknown tool",
    tests: ["expose governs list, call and resources alike: what is hidden and what never was answer the same", configured],
  },
  { id: "packet.implied.11-tool-timeout", says: "A tool call ends after tool_timeout", tests: ["a tool call ends after its time"] },
  {
    id: "packet.implied.12-kit",
    says: "The test kit has the page's names",
    tests: [
      "actor maintains state between messages",
      "MCP tool call executes capability",
      "an actor started by its id is the same actor; without an actor_id each is one of its own",
    ],
  },
  {
    id: "packet.implied.13-initialize",
    says: "initialize is answered with valid MCP",
    tests: [`${examples} the server says in initialize what it can, and it is valid MCP`, judged],
  },
];

/** What there is beside the page. */
const beside: readonly Requirement[] = [
  {
    id: "packet.doors.http",
    says: "POST /packets takes one packet, or many as lines",
    tests: [
      `${served} takes one packet or many over HTTP, each answered`,
      "POST /packets › answers packets that came as lines while others still run, progress first, whatever they say",
    ],
  },
  {
    id: "packet.doors.sockets",
    says: "Packets over WebSocket at the same path, and over TCP",
    tests: [
      `${served} takes packets over WebSocket and TCP: the same actor behind all doors`,
      "packets over WebSocket › are text frames at the same path, under the subprotocol",
      "packets over TCP › are lines, with the token in the metadata of the first, which nobody behind the door sees",
    ],
  },
  {
    id: "packet.doors.rules",
    says: "The limits, Origin and token rules of MCP's doors hold",
    tests: [
      "POST /packets › refuses other media types, other paths, other sizes, strangers and foreign pages",
      "WebSocket › checks Host, Origin, repeated headers, version and token like every request",
    ],
  },
  {
    id: "packet.doors.guests",
    says: "Without authentication a context names a guest, confined to guests' actors",
    tests: [
      `${served} says that it takes guests, each confined to what is a guest's`,
      "guests are confined to guests' actors, by the user or the session they name",
    ],
  },
  {
    id: "packet.doors.act-as",
    says: "Only with the scope packets:act-as does a connection name others",
    tests: [
      "packets:act-as lets a connection speak for another, and goes no further",
      `${served} knows its callers by their keys: user_id is the principal, or of one who may act as others`,
    ],
  },
  {
    id: "packet.doors.schema",
    says: "The JSON Schema of packets is published, and says what the reader does",
    tests: [
      "the schema of requests › agrees with the reader on mutants, and both accept some and refuse some",
      `${served} takes one packet or many over HTTP, each answered`,
    ],
  },
  {
    id: "packet.doors.cancel",
    says: "A request is cancelled by its id, and with its client",
    tests: [
      "a cancel packet ends the request of its id, and no other",
      "a client that goes takes its work with it, and leaves the others' alone",
    ],
  },
  {
    id: "packet.doors.reload",
    says: "troupe dev loads changed capabilities anew, and who is connected stays so",
    tests: ["troupe dev --packets › goes on with who is connected, on the new module, when one has changed"],
  },
  {
    id: "packet.resources",
    says: "packetflow://capabilities, actors and actor/{capability}/{id} are read and subscribed to, one's own alone",
    tests: [together, changing],
  },
  {
    id: "packet.existing",
    says: "An existing actor is a capability without a second definition",
    tests: [
      "an existing actor is a capability without a second definition: the same actor, whatever the way to it",
      "the counter is a capability as it is: the same actor, by the names of its tools",
    ],
  },
  {
    id: "packet.calling-out",
    says: "An actor's work uses tools of other MCP servers, recorded in its chain",
    tests: [
      "other servers › are used by an actor's work, each call kept in its chain, and remember what it told them",
      "server-everything on ${way} › lists its tools, and answers with text, structure and images",
    ],
  },
  {
    id: "packet.config.issues",
    says: "A configuration's wrong and unknown keys are named",
    tests: ["every wrong and unknown key of a configuration is named with its path, and the key that was probably meant"],
  },
  {
    id: "packet.client",
    says: "packetClient sends, requests, beats and reconnects",
    tests: [
      "a packet client speaks with every door there is: actors, progress, MCP inside",
      "a packet client that reconnects › waits for a server as long as it has patience, after pauses that double",
    ],
  },
  {
    id: "packet.commands",
    says: "troupe packet send, troupe capabilities",
    tests: [
      `${served} answers \`troupe packet send\` and \`troupe capabilities\``,
      "troupe capabilities › lists what a server can be asked for, all or what is like that",
    ],
  },
  {
    id: "packet.search.index",
    says: "Search is ranked, of several words, Unicode-folded, of one's own actors, from a file that can be thrown away",
    tests: [
      searched,
      "all words must occur, in whichever fields; the better match is first, of equal ones the newer",
      "case, accents and how a letter is composed make no difference, and scripts without spaces are found by their characters",
    ],
  },
  {
    id: "packet.fuzz",
    says: "Whatever is sent: the right kind of error, and nothing written",
    tests: [
      `${fuzzed} of any bytes are protocol errors`,
      `${fuzzed} that were changed are refused as what they are, or are about nothing that is there`,
      wrong,
      `${fuzzed} leave a system that still does what it is asked`,
    ],
  },
];

export const packet: readonly Requirement[] = [...lines, ...implied, ...beside];
